// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/krmfn/krmfn/services/server/binarytest"
)

// The function runner must link neither the curated functions nor, without their build tag, the cloud keychains.
func TestLinks(t *testing.T) {
	t.Parallel()
	// protovalidate needs CEL to validate requests. No other package may link CEL.
	imports := slices.DeleteFunc(binarytest.Imports(t), func(i binarytest.Import) bool {
		return binarytest.Matches(i.Importer, []string{"buf.build/go/protovalidate"})
	})
	binarytest.Denied(t, imports,
		"cel.dev", "cloud.google.com/go", "github.com/aws", "github.com/awslabs", "github.com/google/cel-go", "github.com/krmfn/krmfn/functions",
		"github.com/open-policy-agent", "github.com/qri-io", "github.com/santhosh-tekuri/jsonschema", "github.com/yannh/kubeconform",
		"go.starlark.net", "helm.sh",
		"k8s.io/client-go/discovery", "k8s.io/client-go/dynamic/dynamicinformer", "k8s.io/client-go/informers", "k8s.io/client-go/kubernetes")
}

func TestSize(t *testing.T) {
	t.Parallel()
	binarytest.Size(t, "build/function-runner", 36_958_000)
}
