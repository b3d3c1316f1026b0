// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/order"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// Restore brings comments and the order of fields back to a resource that a function has returned. What the function has
// rebuilt beyond recognition goes without: that is no reason to fail. Aliases come back where nothing has changed.
func Restore(from, to *yaml.RNode) {
	if packed := yamlnode.Pack(from.Document()); packed != nil && Intact(packed, to) {
		return
	}
	if adopt(from, to) {
		return
	}
	defer yamlnode.RestoreAliases(from.YNode(), to.YNode())
	if err := restoreComments(from, to); err != nil {
		return
	}
	// Most resources come back in order, and looking is cheaper than sorting.
	if !ordered(from.YNode(), to.YNode()) {
		_ = order.SyncOrder(from, to)
	}
}

// Intact tells whether a resource plainly has all comments and the order of fields that it had when it was packed, new fields last,
// so that Restore has nothing to do: that is most resources, and one look takes less than those of kept and ordered.
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

// intact is Intact for a part of a resource.
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

// ordered tells whether the fields of a node are plainly in the order that they had before, new ones last.
func ordered(from, to *yaml.Node) bool {
	if from.Kind != to.Kind || len(from.Content) > len(to.Content) || from.Kind == yaml.AliasNode {
		return false
	}
	// In sequences, sorting also moves comments.
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

// RestoreComments brings the comments of a resource back to what has been made of it, where they belong to fields that are
// still there and have no comment of their own. It tells whether there were any. Without a resource before there are none.
func RestoreComments(from, to *yaml.RNode) bool {
	if from == nil {
		return false
	}
	before := to.Copy()
	return restoreComments(from, to) == nil &&
		(!sameComments(before.Document(), to.Document()) || !same(before.YNode(), to.YNode()))
}

func restoreComments(from, to *yaml.RNode) error {
	// Most resources have nothing to restore, and looking is faster than copying. Copying also unfolds scalars, comments or not.
	// TestWhatIsKeptNeedsNoRestoring checks that skipping it here, and in Restore, changes nothing.
	if !yamlnode.Contains(to.Document(), folded) && (!yamlnode.Contains(from.Document(), commented) ||
		sameComments(from.Document(), to.Document()) && kept(from.YNode(), to.YNode())) {
		return nil
	}
	before := flowComments(to.YNode(), false)
	if err := copyComments(from, to); err != nil {
		return err
	}
	if flowComments(to.YNode(), false) > before {
		spread(to.YNode())
	}
	return nil
}

// kept tells whether all comments of a node are still there, so that there is nothing to copy. Where it is not plain what
// would be copied to what, it says no.
func kept(from, to *yaml.Node) bool {
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
		if !sameComments(from.Content[i], to.Content[at]) || !kept(from.Content[i+1], to.Content[at+1]) {
			return false
		}
	}
	return true
}

// same tells whether two nodes have the same values and comments at the same places.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && sameComments(a, b) && slices.EqualFunc(a.Content, b.Content, same)
}

func sameComments(a, b *yaml.Node) bool {
	return a.HeadComment == b.HeadComment && a.LineComment == b.LineComment && a.FootComment == b.FootComment
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
