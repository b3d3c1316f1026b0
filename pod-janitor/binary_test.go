// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/krmfn/krmfn/internal/server/binarytest"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	binarytest.Denied(t, binarytest.Imports(t),
		"buf.build/go/protovalidate", "cel.dev", "github.com/google/cel-go", "github.com/google/go-containerregistry",
		"github.com/krmfn/krmfn/functions", "github.com/open-policy-agent", "github.com/sigstore",
		"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc", "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc",
		"k8s.io/api/batch", "k8s.io/client-go/informers", "k8s.io/client-go/kubernetes")
}

func TestSize(t *testing.T) {
	t.Parallel()
	binarytest.Size(t, "build/pod-janitor", 21_328_000)
}
