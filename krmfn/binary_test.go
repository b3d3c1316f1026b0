// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/krmfn/krmfn/services/server/binarytest"
)

// The command has one CEL engine, no code that only servers need, and no packages that link all API types of Kubernetes.
func TestLinks(t *testing.T) {
	t.Parallel()
	binarytest.Denied(t, binarytest.Imports(t),
		"buf.build/go/protovalidate", "github.com/google/cel-go", "github.com/open-policy-agent/opa/v1/rego",
		"github.com/prometheus", "go.opentelemetry.io/contrib/exporters", "go.opentelemetry.io/otel/exporters", "go.opentelemetry.io/otel/sdk",
		"helm.sh/helm/v3/pkg/chartutil", "helm.sh/helm/v3/pkg/engine", "k8s.io/apiextensions-apiserver", "k8s.io/client-go/discovery")
}

func TestSize(t *testing.T) {
	t.Parallel()
	binarytest.Size(t, "build/krmfn", 73_150_000)
}
