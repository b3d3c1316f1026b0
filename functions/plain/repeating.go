// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"context"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// maxRepeated is the limit in bytes for the text of the functionConfig times the number of mappings in the resources.
const maxRepeated = 2 << 30

// repeating limits a function that may copy its functionConfig into every mapping: a long value in many resources takes far
// more memory than the list.
func repeating(f function.Function) function.Function {
	process := f.Process
	f.Process = func(ctx context.Context, rl *fn.ResourceList) (bool, error) {
		bytes := textOf(function.NodeOf(rl.FunctionConfig))
		mappings := 0
		for _, item := range rl.Items {
			mappings += mappingsOf(function.NodeOf(item))
		}
		if bytes*mappings > maxRepeated {
			rl.Results.Errorf("functionConfig has %d bytes of text, too many to be repeated in these resources: shorten it, or split the package", bytes)
			return false, nil
		}
		return process(ctx, rl)
	}
	return f
}

// textOf returns the total length of all scalars in bytes.
func textOf(node *yaml.Node) int {
	if node == nil {
		return 0
	}
	bytes := len(node.Value)
	for _, value := range node.Content {
		bytes += textOf(value)
	}
	return bytes
}

func mappingsOf(node *yaml.Node) int {
	count := 0
	if node.Kind == yaml.MappingNode {
		count++
	}
	for _, value := range node.Content {
		count += mappingsOf(value)
	}
	return count
}
