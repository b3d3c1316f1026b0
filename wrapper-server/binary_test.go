// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/krmfn/krmfn/internal/server/binarytest"
)

// The binary is copied into every function pod. With the growth that Size allows, its limit is 16 MB.
func TestSize(t *testing.T) {
	t.Parallel()
	binarytest.Size(t, "build/wrapper-server", 15_238_000)
}

// The wrapper server needs no Kubernetes client, no validation of requests, and no YAML library but the one that reads the results in a
// function's output. Each of them costs megabytes in every function pod.
func TestLinks(t *testing.T) {
	t.Parallel()
	binarytest.Denied(t, binarytest.Imports(t),
		"buf.build/go/protovalidate", "cel.dev", "github.com/google/cel-go", "github.com/google/go-containerregistry", "github.com/open-policy-agent",
		"github.com/sigstore", "github.com/krmfn/krmfn/functions", "github.com/krmfn/krmfn/internal/cluster", "github.com/krmfn/krmfn/services/render",
		"github.com/krmfn/krmfn/internal/server/daemon", "github.com/krmfn/krmfn/internal/server/validation",
		"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc", "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc",
		"go.yaml.in/yaml/v2", "gopkg.in/yaml.v2", "gopkg.in/yaml.v3", "k8s.io", "sigs.k8s.io")
}
