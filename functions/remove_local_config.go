// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"fmt"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

var _ = register(function.Function{
	Name:    "remove-local-config-resources",
	Version: "v0.1.0",
	Tags:    []string{"v0.1.0", "v0.1"},
	Summary: "removes resources that are local configuration",
	Config:  "none",
	Process: removeLocalConfig,
})

// removeLocalConfig removes the resources whose annotation says "true", and those that are empty. Other values of the
// annotation, which make a resource local configuration elsewhere, do not remove it.
func removeLocalConfig(_ context.Context, rl *fn.ResourceList) (bool, error) {
	var kept fn.KubeObjects
	var removed fn.Results
	for _, item := range rl.Items {
		switch root := nodeOf(item); {
		case len(root.Content) == 0:
		case strings.EqualFold(annotationText(root, "config.kubernetes.io/local-config"), "true"):
			removed = append(removed, namedResult("Resource name: [%s]", item))
		default:
			kept = append(kept, item)
		}
	}
	rl.Items = kept
	if len(removed) == 0 {
		rl.Results.Warningf("Found no resources to prune with the local config annotation")
		return true, nil
	}
	rl.Results.Infof("Number of resources pruned: %d", len(removed))
	rl.LogResult(removed)
	return true, nil
}

// namedResult is a result about a resource, of which the message has the name.
func namedResult(message string, item *fn.KubeObject) *fn.Result {
	result := fn.GeneralResult(fmt.Sprintf(message, item.GetName()), fn.Info)
	if path := sourceFile(item).Path; path != "" {
		result.File = &fn.File{Path: path}
	}
	return result
}

// annotationText returns the text of an annotation, quoted or, as it should not be, not.
func annotationText(root *yaml.Node, name string) string {
	node := root
	for _, step := range []string{"metadata", "annotations", name} {
		if node == nil || node.Kind != yaml.MappingNode {
			return ""
		}
		node = field(node, step)
	}
	if node == nil {
		return ""
	}
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node.Value
}
