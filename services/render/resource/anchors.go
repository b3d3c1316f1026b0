// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Finite tells whether a resource is free of anchors that contain an alias of themselves. Walks over one that is not have
// no end.
func Finite(r *yaml.RNode) bool { return finite(r.YNode(), map[*yaml.Node]bool{}) }

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

// maxExpanded bounds the nodes of a resource whose aliases are replaced by what they stand for.
const maxExpanded = 1 << 20

var errExpansion = errors.New("the aliases of the resource stand for more than can be written out")

// OwnAnchors returns a node in which no alias stands for something outside of it, so that it can leave the document that
// it was read from. That is the node itself wherever it does so already; otherwise a copy with all aliases written out.
// The node must be finite.
func OwnAnchors(n *yaml.Node) (*yaml.Node, error) {
	inside := map[*yaml.Node]bool{}
	if ownsAliases(n, inside) {
		return n, nil
	}
	budget := maxExpanded
	return expand(n, &budget)
}

// ownsAliases collects the nodes with anchors, which stand before their aliases.
func ownsAliases(n *yaml.Node, inside map[*yaml.Node]bool) bool {
	if n.Kind == yaml.AliasNode {
		return inside[n.Alias]
	}
	if n.Anchor != "" {
		inside[n] = true
	}
	for _, c := range n.Content {
		if !ownsAliases(c, inside) {
			return false
		}
	}
	return true
}

func expand(n *yaml.Node, budget *int) (*yaml.Node, error) {
	if *budget--; *budget < 0 {
		return nil, errExpansion
	}
	if n.Kind == yaml.AliasNode {
		return expand(n.Alias, budget)
	}
	out := *n
	out.Anchor = ""
	out.Content = make([]*yaml.Node, 0, len(n.Content))
	for _, c := range n.Content {
		expanded, err := expand(c, budget)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, expanded)
	}
	return &out, nil
}
