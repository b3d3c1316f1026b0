// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/krmfn/krmfn/internal/server/binarytest"
)

// The function runner must link neither the curated functions nor, without their build tag, the cloud keychains.
func TestLinks(t *testing.T) {
	t.Parallel()
	binarytest.Denied(t, binarytest.Imports(t),
		"buf.build/go/protovalidate", "cel.dev", "cloud.google.com/go", "github.com/aws", "github.com/awslabs", "github.com/google/cel-go", "github.com/krmfn/krmfn/functions",
		"github.com/open-policy-agent", "github.com/qri-io", "github.com/santhosh-tekuri/jsonschema", "github.com/yannh/kubeconform",
		"go.starlark.net", "helm.sh",
		"k8s.io/client-go/discovery", "k8s.io/client-go/dynamic/dynamicinformer", "k8s.io/client-go/informers", "k8s.io/client-go/kubernetes")
}

func TestSize(t *testing.T) {
	t.Parallel()
	binarytest.Size(t, "build/function-runner", 30_974_000)
}
