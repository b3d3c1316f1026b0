// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// MaxNodes is the maximum number of YAML nodes of a resource after its aliases are expanded. A few lines of YAML can expand to billions
// of nodes.
const MaxNodes = 100_000

// expandMetadata expands the aliases of resources that have aliases at the top level, in the metadata or in the annotations. The SDK
// reads these in every resource, and panics if they are aliases.
func expandMetadata(items fn.KubeObjects) error {
	for _, item := range items {
		root := NodeOf(item)
		metadata := yamlnode.Field(root, "metadata")
		if !hasAlias(root) && !hasAlias(metadata) && !hasAlias(yamlnode.Field(metadata, "annotations")) {
			continue
		}
		if err := yamlnode.ExpandAliases(root, MaxNodes); err != nil {
			return err
		}
	}
	return nil
}

// hasAlias reports whether a value of a mapping or sequence is an alias.
func hasAlias(node *yaml.Node) bool {
	return node != nil && slices.ContainsFunc(node.Content, yamlnode.IsAlias)
}

// NodeOf returns the YAML mapping of a resource. Changes to it are printed.
func NodeOf(item *fn.KubeObject) *yaml.Node {
	rn := item.MoveToResourceNode()
	node := rn.YNode()
	*item = *fn.MoveToKubeObject(rn)
	return node
}
