// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/comments"
	"sigs.k8s.io/kustomize/kyaml/order"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// restore brings comments and the order of fields back to a resource that a function has returned. What the function has
// rebuilt beyond recognition goes without: that is no reason to fail.
func restore(from, to *yaml.RNode) {
	if err := restoreComments(from, to); err != nil {
		return
	}
	_ = order.SyncOrder(from, to)
}

func restoreComments(from, to *yaml.RNode) error {
	// Most resources have nothing to restore, and copying is dear. It also unfolds scalars, comments or not.
	if !contains(from.Document(), commented) && !contains(to.Document(), folded) {
		return nil
	}
	before := flowComments(to.YNode(), false)
	if err := comments.CopyComments(from, to); err != nil {
		return err
	}
	if flowComments(to.YNode(), false) > before {
		spread(to.YNode())
	}
	return nil
}

func contains(n *yaml.Node, property func(*yaml.Node) bool) bool {
	return property(n) || slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return contains(c, property) })
}

func folded(n *yaml.Node) bool { return n.Style&yaml.FoldedStyle != 0 }

// flowComments counts the comments inside of collections in flow style.
func flowComments(n *yaml.Node, inFlow bool) int {
	count := 0
	if inFlow && commented(n) {
		count++
	}
	inFlow = inFlow || n.Style&yaml.FlowStyle != 0
	for _, c := range n.Content {
		count += flowComments(c, inFlow)
	}
	return count
}

// spread takes flow style from the collections with comments inside. A function that prints JSON leaves everything in flow
// style, and the printer cannot put all comments that a block had there: the file could not be read again.
func spread(n *yaml.Node) (comments bool) {
	for _, c := range n.Content {
		comments = spread(c) || commented(c) || comments
	}
	if comments {
		n.Style &^= yaml.FlowStyle
	}
	return comments
}

func commented(n *yaml.Node) bool {
	return n.HeadComment != "" || n.LineComment != "" || n.FootComment != ""
}
