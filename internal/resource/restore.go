// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/order"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// Restore restores comments, the order of fields, and aliases in to, which is a function's output for the input from. It ignores parts
// that the function has changed too much to be matched; this is not an error.
func Restore(from, to *yaml.RNode) {
	if packed := yamlnode.Pack(from.Document()); packed != nil && Intact(packed, to) {
		return
	}
	if reuseNodes(from, to) {
		return
	}
	defer yamlnode.RestoreAliases(from.YNode(), to.YNode())
	if err := restoreComments(from, to); err != nil {
		return
	}
	// Most resources come back in order, and checking is cheaper than sorting.
	if !ordered(from.YNode(), to.YNode()) {
		_ = order.SyncOrder(from, to)
	}
}

// Intact reports whether to has the comments and the order of fields of the packed resource, possibly with new fields at the
// end, so that Restore has nothing to do. This is the case for most resources. One call of Intact is faster than keepsComments and
// ordered. It may return false if it cannot tell.
func Intact(packed *yamlnode.Packed, to *yaml.RNode) bool {
	from := packed.Reader()
	root := from.Peek()
	if root.Comments != yamlnode.CommentsOf(to.Document()) {
		return false
	}
	if root.Kind == yaml.DocumentNode {
		from.Next()
	}
	return intact(&from, to.YNode())
}

// intact is Intact for one node.
func intact(from *yamlnode.Reader, to *yaml.Node) bool {
	before := from.Next()
	if before.Kind != to.Kind || before.Below > len(to.Content) || folded(to) || before.Comments != yamlnode.CommentsOf(to) {
		return false
	}
	inSequence := before.Kind == yaml.SequenceNode
	for i, n := range to.Content[:before.Below] {
		isKey := before.Kind == yaml.MappingNode && i%2 == 0
		if isKey && from.Peek().Value != n.Value || !intact(from, n) || inSequence && yamlnode.Contains(n, commented) {
			return false
		}
	}
	return !slices.ContainsFunc(to.Content[before.Below:], func(n *yaml.Node) bool {
		return yamlnode.Contains(n, folded) || inSequence && yamlnode.Contains(n, commented)
	})
}

// ordered reports whether the fields of from come first in to, in the same order. It may return false if it cannot tell.
func ordered(from, to *yaml.Node) bool {
	if from.Kind != to.Kind || len(from.Content) > len(to.Content) || from.Kind == yaml.AliasNode {
		return false
	}
	// SyncOrder moves comments in sequences, so it must run.
	if to.Kind == yaml.SequenceNode && yamlnode.Contains(to, commented) {
		return false
	}
	for i, n := range from.Content {
		isKey := from.Kind == yaml.MappingNode && i%2 == 0
		if isKey && n.Value != to.Content[i].Value || !isKey && !ordered(n, to.Content[i]) {
			return false
		}
	}
	return true
}

// RestoreComments copies the comments of from to the same fields of to, unless these have comments. It reports whether it
// changed to. from may be nil.
func RestoreComments(from, to *yaml.RNode) bool {
	if from == nil {
		return false
	}
	before := to.Copy()
	return restoreComments(from, to) == nil &&
		(!sameComments(before.Document(), to.Document()) || !same(before.YNode(), to.YNode()))
}

func restoreComments(from, to *yaml.RNode) error {
	// For most resources there is nothing to restore, and checking is faster than copying. Copying also converts folded
	// scalars, even without comments. TestIntactResourcesNeedNoRestoring checks that skipping it here and in Restore makes no
	// difference.
	if !yamlnode.Contains(to.Document(), folded) && (!yamlnode.Contains(from.Document(), commented) ||
		sameComments(from.Document(), to.Document()) && keepsComments(from.YNode(), to.YNode())) {
		return nil
	}
	before := flowComments(to.YNode(), false)
	if err := copyComments(from, to); err != nil {
		return err
	}
	if flowComments(to.YNode(), false) > before {
		useBlockStyle(to.YNode())
	}
	return nil
}

// keepsComments reports whether to has all comments of from, so that there is nothing to copy. It may return false if it cannot
// tell.
func keepsComments(from, to *yaml.Node) bool {
	if !sameComments(from, to) {
		return false
	}
	switch {
	case from.Kind != to.Kind || from.Kind == yaml.AliasNode:
		return !yamlnode.Contains(from, commented)
	case from.Kind == yaml.SequenceNode:
		return !yamlnode.Contains(from, commented) || same(from, to)
	case from.Kind != yaml.MappingNode:
		return true
	}
	for i := 0; i+1 < len(from.Content); i += 2 {
		at := yamlnode.Position(to, from.Content[i].Value)
		if at < 0 {
			continue
		}
		if !sameComments(from.Content[i], to.Content[at]) || !keepsComments(from.Content[i+1], to.Content[at+1]) {
			return false
		}
	}
	return true
}

// same reports whether two nodes have equal values and comments.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && sameComments(a, b) && slices.EqualFunc(a.Content, b.Content, same)
}

func sameComments(a, b *yaml.Node) bool {
	return a.HeadComment == b.HeadComment && a.LineComment == b.LineComment && a.FootComment == b.FootComment
}

func folded(n *yaml.Node) bool { return n.Style&yaml.FoldedStyle != 0 }

// flowComments counts the comments inside flow collections.
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

// useBlockStyle changes flow collections with comments inside to block style. A function that prints JSON leaves everything in flow
// style, where the encoder prints some comments such that the file cannot be parsed.
func useBlockStyle(n *yaml.Node) (comments bool) {
	for _, c := range n.Content {
		comments = useBlockStyle(c) || commented(c) || comments
	}
	if comments {
		n.Style &^= yaml.FlowStyle
	}
	return comments
}

func commented(n *yaml.Node) bool {
	return n.HeadComment != "" || n.LineComment != "" || n.FootComment != ""
}
