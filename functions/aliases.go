// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"errors"
	"strconv"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// maxNodes bounds what the aliases of one resource may grow to when they are expanded, as a few lines of YAML can stand
// for billions of nodes.
const maxNodes = 100_000

var errTooManyAliases = errors.New("the YAML aliases of the resource stand for too much: at most " +
	strconv.Itoa(maxNodes) + " nodes are taken")

// expandMetadata expands the aliases of resources that have one where the SDK reads every resource: at the top and in
// the metadata. The SDK panics on those.
func expandMetadata(items fn.KubeObjects) error {
	for _, item := range items {
		root := nodeOf(item)
		if metadata := field(root, "metadata"); !hasAlias(root) && !hasAlias(metadata) &&
			(metadata == nil || !hasAlias(field(metadata, "annotations"))) {
			continue
		}
		if err := expandAliases(root); err != nil {
			return err
		}
	}
	return nil
}

// hasAlias reports whether a value of a mapping or list is an alias.
func hasAlias(node *yaml.Node) bool {
	if node == nil {
		return false
	}
	for _, value := range node.Content {
		if value.Kind == yaml.AliasNode {
			return true
		}
	}
	return false
}

// expandAliases replaces every alias below a node by a copy of what it stands for. After it, a change of one field is a
// change of that field alone.
func expandAliases(root *yaml.Node) error {
	left := maxNodes
	var expand func(node *yaml.Node) error
	expand = func(node *yaml.Node) error {
		if left--; left < 0 {
			return errTooManyAliases
		}
		for i, value := range node.Content {
			if value.Kind == yaml.AliasNode {
				value = copyOfTarget(value)
				node.Content[i] = value
			}
			if err := expand(value); err != nil {
				return err
			}
		}
		return nil
	}
	return expand(root)
}

// copyOfTarget copies what an alias stands for, with the alias's own comments.
func copyOfTarget(alias *yaml.Node) *yaml.Node {
	target := yaml.CopyYNode(alias.Alias)
	dropAnchors(target)
	target.HeadComment, target.LineComment, target.FootComment = alias.HeadComment, alias.LineComment, alias.FootComment
	return target
}

func dropAnchors(node *yaml.Node) {
	node.Anchor = ""
	for _, value := range node.Content {
		dropAnchors(value)
	}
}

// ownField is field for a change: where other parts of the resource share the value through an alias, all aliases below
// root are expanded first, so that only this field changes.
func ownField(root, mapping *yaml.Node, name string) (*yaml.Node, error) {
	value := field(mapping, name)
	if value == nil || value.Anchor == "" && value.Kind != yaml.AliasNode {
		return value, nil
	}
	if err := expandAliases(root); err != nil {
		return nil, err
	}
	return field(mapping, name), nil
}
