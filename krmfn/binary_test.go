// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/krmfn/krmfn/internal/server/binarytest"
)

// The command has one CEL engine and no code that only servers need. Helm's engine links all API types of Kubernetes.
func TestLinks(t *testing.T) {
	t.Parallel()
	binarytest.Denied(t, binarytest.Imports(t),
		"buf.build/go/protovalidate", "github.com/google/cel-go", "github.com/open-policy-agent/opa/v1/rego",
		"github.com/prometheus", "go.opentelemetry.io/contrib/exporters", "go.opentelemetry.io/otel/exporters", "go.opentelemetry.io/otel/sdk",
		"helm.sh/helm/v3/pkg/action")
}

func TestSize(t *testing.T) {
	t.Parallel()
	binarytest.Size(t, "build/krmfn", 75_780_000)
}
