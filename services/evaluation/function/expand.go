// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// MaxNodes bounds what the aliases of one resource may grow to when they are expanded, as a few lines of YAML can stand
// for billions of nodes.
const MaxNodes = 100_000

// expandMetadata expands the aliases of resources that have one where the SDK reads every resource: at the top and in
// the metadata. The SDK panics on those.
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

// hasAlias reports whether a value of a mapping or list is an alias.
func hasAlias(node *yaml.Node) bool {
	return node != nil && slices.ContainsFunc(node.Content, yamlnode.IsAlias)
}

// NodeOf returns the YAML mapping of a resource: the one that is printed, not a copy.
func NodeOf(item *fn.KubeObject) *yaml.Node {
	rn := item.MoveToResourceNode()
	node := rn.YNode()
	*item = *fn.MoveToKubeObject(rn)
	return node
}
