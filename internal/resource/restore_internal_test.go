// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/comments"
	"sigs.k8s.io/kustomize/kyaml/order"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

func drawNode(t *rapid.T, depth int) *yaml.Node {
	comment := func() string { return rapid.SampledFrom([]string{"", "", "", "# a", "# b"}).Draw(t, "comment") }
	kind := 0
	if depth > 0 {
		kind = rapid.IntRange(0, 2).Draw(t, "kind")
	}
	switch kind {
	case 1:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		keys := rapid.SampledFrom([]string{"name", "b", "c", "containers"})
		for _, key := range rapid.SliceOfNDistinct(keys, 1, 3, rapid.ID).Draw(t, "keys") {
			k := str(key)
			k.HeadComment = comment()
			n.Content = append(n.Content, k, drawNode(t, depth-1))
		}
		return n
	case 2:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			n.Content = append(n.Content, drawNode(t, depth-1))
		}
		return n
	}
	n := str(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "value"))
	n.LineComment, n.HeadComment = comment(), comment()
	return n
}

// If keepsComments, ordered or Intact return true, restoring changes nothing.
func TestIntactResourcesNeedNoRestoring(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		root := func() *yaml.Node {
			return &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap, Content: []*yaml.Node{
				str("spec"), drawNode(t, 3), str("other"), drawNode(t, 2),
			}}
		}
		from := root()
		to := yaml.CopyYNode(from)
		if rapid.Bool().Draw(t, "another") {
			to = root()
		}
		n := to
		for n.Kind != yaml.ScalarNode && len(n.Content) > 0 {
			n = rapid.SampledFrom(n.Content).Draw(t, "child")
		}
		switch rapid.IntRange(0, 2).Draw(t, "change") {
		case 0:
			n.LineComment = "# new"
		case 1:
			n.Value = "w"
		}
		if Intact(yamlnode.Pack(from), yaml.NewRNode(to)) && (!keepsComments(from, to) || !ordered(from, to)) {
			t.Fatalf("Intact() = true, but keepsComments() or ordered() = false; from\n%s\nto\n%s", yaml.NewRNode(from).MustString(), yaml.NewRNode(to).MustString())
		}
		before := yaml.CopyYNode(to)
		if ordered(from, to) {
			if err := order.SyncOrder(yaml.NewRNode(from), yaml.NewRNode(to)); err == nil && !same(before, to) {
				t.Fatalf("ordered() = true, but SyncOrder() changed\n%s\nto\n%s", yaml.NewRNode(before).MustString(), yaml.NewRNode(to).MustString())
			}
		}
		if !keepsComments(from, to) {
			return
		}
		if err := comments.CopyComments(yaml.NewRNode(from), yaml.NewRNode(to)); err == nil && !same(before, to) {
			t.Fatalf("keepsComments() = true, but CopyComments() changed the result; from\n%s\nto\n%s\ngot\n%s", yaml.NewRNode(from).MustString(), yaml.NewRNode(before).MustString(), yaml.NewRNode(to).MustString())
		}
	})
}

func TestIntact(t *testing.T) {
	t.Parallel()
	const from = "a: b # c\nd:\n  e: f\ng:\n- h\n"
	for to, want := range map[string]bool{
		from: true, from + "i: j # k\n": true, from + "- i\n": true, strings.Replace(from, "b #", "x #", 1): true,
		from + "- i # j\n": false, from + "i: >-\n  j\n": false, strings.Replace(from, " # c", "", 1): false,
		strings.Replace(from, "f", ">-\n    f", 1): false, strings.Replace(from, "e:", "x: y\n  e:", 1): false, "a: b # c\n": false,
	} {
		if got := Intact(yamlnode.Pack(yaml.MustParse(from).Document()), yaml.MustParse(to)); got != want {
			t.Errorf("Intact() = %v for\n%s", got, to)
		}
	}
}

func str(value string) *yaml.Node { return yamlnode.String(value, 0) }
