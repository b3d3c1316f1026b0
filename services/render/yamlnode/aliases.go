// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// IsAlias reports whether a node is an alias; with Contains, whether there is one below a node.
func IsAlias(n *yaml.Node) bool { return n.Kind == yaml.AliasNode }

// Finite reports whether no anchor below a node contains an alias of itself. A walk that follows aliases does not end
// otherwise.
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

// maxDetached bounds the nodes of a detached node.
const maxDetached = 1 << 20

// Detach returns a node that may leave its document, because none of its aliases stands for something outside of it. That
// is the node itself if possible, otherwise a copy without aliases and anchors. The node must be finite. The error is that
// of ExpandAliases.
func Detach(n *yaml.Node) (*yaml.Node, error) {
	anchors := map[*yaml.Node]bool{}
	// An anchor comes before its aliases.
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

// ExpandAliases replaces every alias below a node with a copy of what it stands for, which has the alias's comments and no
// anchors. A change of one field is a change of that field alone then. Anchors stay where they are.
//
// The error says that the result has more nodes than limit, because a few lines of YAML can stand for billions; the node
// is expanded in part then.
func ExpandAliases(root *yaml.Node, limit int) error {
	left := limit
	var expand func(n *yaml.Node) error
	expand = func(n *yaml.Node) error {
		if left--; left < 0 {
			return fmt.Errorf("the YAML aliases of the resource stand for too much: at most %d nodes are taken", limit)
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

// DropAnchors removes the anchors of a node and of those below it. There must not be aliases of them.
func DropAnchors(n *yaml.Node) {
	n.Anchor = ""
	for _, c := range n.Content {
		DropAnchors(c)
	}
}
