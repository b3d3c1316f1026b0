// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// RestoreAliases puts aliases back into what has been made of a node, where each place of an alias and of its anchor still has
// the value that it had. Where an alias would come before its anchor, or behind another one of the same name, nothing is put
// back. Both nodes must be finite.
func RestoreAliases(from, to *yaml.Node) {
	if !Contains(from, IsAlias) {
		return
	}
	r := restoring{anchors: map[*yaml.Node]*anchor{}}
	r.walk(Resolve(from), Resolve(to))
	if len(r.before) > 0 && !ordered(to, map[string]*yaml.Node{}) {
		for _, c := range slices.Backward(r.before) {
			*c.node = c.value
		}
	}
}

type restoring struct {
	// anchors are the nodes in the place of those with anchors.
	anchors map[*yaml.Node]*anchor
	// before is what was changed, in order.
	before []change
}

type anchor struct {
	node *yaml.Node
	// same says that the node has the value that the anchor had.
	same bool
}

type change struct {
	node  *yaml.Node
	value yaml.Node
}

func (r *restoring) walk(from, to *yaml.Node) {
	if from.Anchor != "" {
		r.anchors[from] = &anchor{to, (to.Anchor == "" || to.Anchor == from.Anchor) && SameValues(from, to)}
	}
	switch {
	case from.Kind == yaml.AliasNode:
		r.restore(from, to)
	case from.Kind != to.Kind:
	case from.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(from.Content); i += 2 {
			if at := Position(to, from.Content[i].Value); at >= 0 && at+1 < len(to.Content) {
				r.walk(from.Content[i], to.Content[at])
				r.walk(from.Content[i+1], to.Content[at+1])
			}
		}
	default:
		for i := range min(len(from.Content), len(to.Content)) {
			r.walk(from.Content[i], to.Content[i])
		}
	}
}

// restore puts an alias in the place of a node.
func (r *restoring) restore(alias, to *yaml.Node) {
	target := r.anchors[alias.Alias]
	if to.Kind == yaml.AliasNode || target == nil || !target.same || Contains(to, hasAnchor) || !SameValues(alias, to) {
		return
	}
	r.change(target.node).Anchor = alias.Value
	n := r.change(to)
	n.Kind, n.Tag, n.Style, n.Content = yaml.AliasNode, "", 0, nil
	n.Value, n.Alias = alias.Value, target.node
}

func (r *restoring) change(n *yaml.Node) *yaml.Node {
	r.before = append(r.before, change{n, *n})
	return n
}

func hasAnchor(n *yaml.Node) bool { return n.Anchor != "" }

// ordered reports whether each alias stands for the last anchor of its name before it.
func ordered(n *yaml.Node, anchors map[string]*yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		return anchors[n.Value] == n.Alias
	}
	if n.Anchor != "" {
		anchors[n.Anchor] = n
	}
	for _, below := range n.Content {
		if !ordered(below, anchors) {
			return false
		}
	}
	return true
}
