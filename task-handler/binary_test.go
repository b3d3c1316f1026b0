// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/krmfn/krmfn/internal/server/binarytest"
)

// Functions with these libraries run in processes of krmfn's executable functions.
func TestLinks(t *testing.T) {
	t.Parallel()
	binarytest.Denied(t, binarytest.Imports(t),
		"buf.build/go/protovalidate", "cel.dev", "github.com/google/cel-go", "github.com/open-policy-agent", "github.com/santhosh-tekuri/jsonschema", "github.com/sigstore", "github.com/yannh/kubeconform",
		"go.starlark.net", "helm.sh", "k8s.io/client-go/kubernetes/typed/core",
		"github.com/krmfn/krmfn/functions/applyreplacements", "github.com/krmfn/krmfn/functions/gatekeeper", "github.com/krmfn/krmfn/functions/kubeconform", "github.com/krmfn/krmfn/functions/renderhelmchart",
		"github.com/krmfn/krmfn/functions/searchreplace", "github.com/krmfn/krmfn/functions/starlark", "github.com/krmfn/krmfn/functions/validatecel")
}

func TestSize(t *testing.T) {
	t.Parallel()
	binarytest.Size(t, "build/task-handler", 28_377_000)
}
