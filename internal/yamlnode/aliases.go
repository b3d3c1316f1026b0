// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// IsAlias reports whether n is an alias. Use it with Contains to search below a node.
func IsAlias(n *yaml.Node) bool { return n.Kind == yaml.AliasNode }

// Finite reports whether no anchor at or below n contains an alias of itself. A walk that follows aliases ends only for a
// finite node.
func Finite(n *yaml.Node) bool { return finite(n, map[*yaml.Node]bool{}) }

func finite(n *yaml.Node, inside map[*yaml.Node]bool) bool {
	if n.Kind == yaml.AliasNode {
		return !inside[n.Alias]
	}
	if n.Anchor != "" {
		inside[n] = true
		defer delete(inside, n)
	}
	for _, c := range n.Content {
		if !finite(c, inside) {
			return false
		}
	}
	return true
}

// maxDetached is the maximum number of nodes in a result of Detach.
const maxDetached = 1 << 20

// Detach returns a node that can be moved to another document, because no alias in it refers to an anchor outside n. The result
// is n itself if possible, or else a copy without aliases and anchors. n must be finite. Detach fails like ExpandAliases.
func Detach(n *yaml.Node) (*yaml.Node, error) {
	anchors := map[*yaml.Node]bool{}
	// Contains visits an anchor before its aliases.
	foreign := Contains(n, func(n *yaml.Node) bool {
		if n.Anchor != "" {
			anchors[n] = true
		}
		return n.Kind == yaml.AliasNode && !anchors[n.Alias]
	})
	if !foreign {
		return n, nil
	}
	holder := &yaml.Node{Content: []*yaml.Node{Copy(n)}}
	if err := ExpandAliases(holder, maxDetached); err != nil {
		return nil, err
	}
	DropAnchors(holder)
	return holder.Content[0], nil
}

// ExpandAliases replaces every alias below root with a copy of its target, which has the alias's comments and no anchors.
// Afterwards, changing one field changes no other. Anchors stay in place.
//
// ExpandAliases fails if the result has more than limit nodes, because a few lines of YAML can expand to billions. root is then
// partly expanded.
func ExpandAliases(root *yaml.Node, limit int) error {
	left := limit
	var expand func(n *yaml.Node) error
	expand = func(n *yaml.Node) error {
		if left--; left < 0 {
			return fmt.Errorf("the resource is too large with its YAML aliases expanded: the limit is %d nodes", limit)
		}
		for i, value := range n.Content {
			if value.Kind == yaml.AliasNode {
				value = targetOf(value)
				n.Content[i] = value
			}
			if err := expand(value); err != nil {
				return err
			}
		}
		return nil
	}
	return expand(root)
}

func targetOf(alias *yaml.Node) *yaml.Node {
	target := Copy(alias.Alias)
	DropAnchors(target)
	target.HeadComment, target.LineComment, target.FootComment = alias.HeadComment, alias.LineComment, alias.FootComment
	return target
}

// DropAnchors removes all anchors at and below n. No alias of them may remain.
func DropAnchors(n *yaml.Node) {
	n.Anchor = ""
	for _, c := range n.Content {
		DropAnchors(c)
	}
}
