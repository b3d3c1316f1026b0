// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// RestoreAliases restores the aliases of from in to, which is an edited copy with the aliases expanded. An alias is restored if
// its value and its anchor's value are unchanged. If an alias would come before its anchor, or after another anchor of the same
// name, to stays as it is. Both nodes must be finite.
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
	// anchors maps each anchor node of from to its counterpart in to.
	anchors map[*yaml.Node]*anchor
	// before holds the previous values of changed nodes, in the order of changes.
	before []change
}

type anchor struct {
	node *yaml.Node
	// same reports whether node still has the value of the anchor.
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

// restore replaces a node with an alias.
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

// ordered reports whether each alias refers to the nearest preceding anchor of its name.
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
