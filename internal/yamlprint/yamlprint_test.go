// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlprint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

func TestPrintSplitsDrawnNodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := drawNode(t, 4)
		if rapid.Bool().Draw(t, "document") {
			n = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{n}, HeadComment: comment(t), FootComment: comment(t)}
		}
		compare(t, n)
	})
}

func TestPrintSplitsParsedDocuments(t *testing.T) {
	t.Parallel()
	item := func(t *rapid.T) string {
		return rapid.SampledFrom([]string{
			"- a: b\n  c: [d, e]\n", "# head\n- a: b # line\n", "- a\n# foot\n\n", "- a: |\n    text\n\n    more\n", "- a: |+\n    text\n\n\n", "- a: >-\n    folded\n    text\n",
			"- a:\n  - b:\n    - c\n    # foot\n    - d\n", "- - a\n  - b\n", "- &x {a: b}\n- *x\n", "- a: # behind\n    b: c\n", "- {a: b} # behind\n", "- \"quoted\\n\\\"text\"\n", "-\n",
			"- a: |2\n      indented\n    text\n", "- !tag a\n", "- a: []\n", "- a: " + strings.Repeat("long ", 40) + "\n", "- 'it''s\n\n  a'\n",
		}).Draw(t, "item")
	}
	rapid.Check(t, func(t *rapid.T) {
		items := strings.Join(rapid.SliceOfN(rapid.Custom(item), 1, 12).Draw(t, "items"), "")
		indented := "  " + strings.TrimSuffix(strings.ReplaceAll(items, "\n", "\n  "), "  ")
		text := rapid.SampledFrom([]string{"items:\n" + items, "# head\nkind: List\nitems:\n" + items + "after: x\n", "spec:\n  list: # behind\n" + indented + "# foot\n", items}).Draw(t, "text")
		n, err := yaml.Parse(text)
		if err != nil {
			t.Skip(err)
		}
		compare(t, n.Document())
	})
}

// Text that begins with a tab or contains rare line separators is the same after printing and parsing.
func TestPrintQuotesUnreadableText(t *testing.T) {
	t.Parallel()
	n := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Value: "literal"},
		{Kind: yaml.ScalarNode, Value: "\ta\n", Style: yaml.LiteralStyle},
		{Kind: yaml.ScalarNode, Value: "folded"},
		{Kind: yaml.ScalarNode, Value: "\ta\n\tb", Style: yaml.FoldedStyle},
		{Kind: yaml.ScalarNode, Value: "none"},
		{Kind: yaml.ScalarNode, Value: "\ta\nb", Tag: yaml.NodeTagString},
		{Kind: yaml.ScalarNode, Value: "rare"},
		{Kind: yaml.ScalarNode, Value: "\u2028a\nb", Style: yaml.LiteralStyle},
		{Kind: yaml.ScalarNode, Value: "later"},
		{Kind: yaml.ScalarNode, Value: "a\n\tb\n"},
	}}
	before := yaml.CopyYNode(n)
	text, err := Print(n, yaml.CompactSequenceStyle)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("literal: \"\\ta\\n\"\nfolded: \"\\ta\\n\\tb\"\nnone: \"\\ta\\nb\"\nrare: \"\\La\\nb\"\nlater: |\n  a\n  \tb\n", string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, n); diff != "" {
		t.Errorf("Print() modified the node (-before +after):\n%s", diff)
	}
}

// compare checks that a node is printed the same with one encoder and with many.
func compare(t *rapid.T, n *yaml.Node) {
	style := rapid.SampledFrom([]yaml.SequenceIndentStyle{yaml.WideSequenceStyle, yaml.CompactSequenceStyle}).Draw(t, "style")
	before := yaml.CopyYNode(n)
	readable := yaml.CopyYNode(n)
	yamlnode.QuoteUnreadable(readable)
	want, err := printer{style: style}.encode(readable)
	if err != nil {
		t.Skip(err)
	}
	got, err := printer{style, rapid.IntRange(1, 8).Draw(t, "perEncoder")}.print(n)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-one encoder +many):\n%s", diff)
	}
	if diff := cmp.Diff(before, n); diff != "" {
		t.Errorf("Print() modified the node (-before +after):\n%s", diff)
	}
}

func drawNode(t *rapid.T, depth int) *yaml.Node {
	n := &yaml.Node{HeadComment: comment(t), LineComment: comment(t), FootComment: comment(t)}
	kind := 0
	if depth > 0 {
		kind = rapid.IntRange(0, 2).Draw(t, "kind")
	}
	if kind > 0 && rapid.IntRange(0, 5).Draw(t, "flow") == 0 {
		n.Style = yaml.FlowStyle
	}
	switch kind {
	case 1:
		n.Kind, n.Tag = yaml.MappingNode, yaml.NodeTagMap
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "keys") {
			k := &yaml.Node{Kind: yaml.ScalarNode, Value: key, HeadComment: comment(t), FootComment: comment(t)}
			n.Content = append(n.Content, k, drawNode(t, depth-1))
		}
	case 2:
		n.Kind, n.Tag = yaml.SequenceNode, yaml.NodeTagSeq
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			n.Content = append(n.Content, drawNode(t, depth-1))
		}
	default:
		n.Kind, n.Tag = yaml.ScalarNode, yaml.NodeTagString
		n.Value = rapid.SampledFrom([]string{"x", "", "two\nlines", " lines\n\n that begin\n", "\n", "kept\n\n\n", "1", "- a", "é\u2028", "tab\t", "spaces\n   \n \nalone", "\x01"}).Draw(t, "value")
		n.Style = rapid.SampledFrom([]yaml.Style{0, 0, yaml.LiteralStyle, yaml.FoldedStyle, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle}).Draw(t, "style")
	}
	return n
}

func comment(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", "", "", "", "", "# c", "# c\n# d"}).Draw(t, "comment")
}
