// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/krmfn/krmfn/internal/server/binarytest"
)

// Functions link no server code. Helm's engine links all API types of Kubernetes.
func TestLinks(t *testing.T) {
	t.Parallel()
	binarytest.Denied(t, binarytest.Imports(t),
		"buf.build/go/protovalidate", "github.com/google/cel-go", "github.com/open-policy-agent/opa/v1/rego", "github.com/sigstore",
		"google.golang.org/grpc", "helm.sh/helm/v3/pkg/action")
}

// The light executable lacks functions with libraries that are slow to initialise.
func TestLightLinks(t *testing.T) {
	t.Parallel()
	binarytest.Denied(t, binarytest.Imports(t, "light"),
		"cel.dev", "github.com/open-policy-agent", "github.com/santhosh-tekuri/jsonschema", "helm.sh")
}

func TestSize(t *testing.T) {
	t.Parallel()
	binarytest.Size(t, "build/functions/cmd/functions", 61_674_000)
}
