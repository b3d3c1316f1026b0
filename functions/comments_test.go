// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// TestCommentsChangeNoValue checks that functions that write comments change nothing else, whatever the style of the commented
// values.
func TestCommentsChangeNoValue(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"create-setters": "{a: one, b: two, list: '[one, two]', none: '[]'}",
		"search-replace": "{by-path: '**', put-comment: 'kpt-set: ${x}'}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := Lookup(name)
			rapid.Check(t, func(t *rapid.T) {
				text, err := yaml.NewRNode(drawNode(t, 0)).String()
				if err != nil {
					t.Fatal(err)
				}
				input := fuzzList("kind: A\nspec:\n"+functiontest.Indent("value: x\nother:\n"+functiontest.Indent(text)), data)
				if input == nil {
					return
				}
				out, err := function.Run(t.Context(), f, input)
				if err != nil && err.Error() != functiontest.Failed {
					t.Fatalf("error = %v; input:\n%s", err, input)
				}
				if diff := cmp.Diff(itemValues(t, input), itemValues(t, out)); diff != "" {
					t.Fatalf("values (-before +after):\n%s\nof %s\n%s", diff, input, out)
				}
				again, err := function.Run(t.Context(), f, out)
				if err != nil && err.Error() != functiontest.Failed {
					t.Fatal(err)
				}
				if diff := cmp.Diff(fuzzItems(t, out), fuzzItems(t, again)); diff != "" {
					t.Fatalf("items of the second run (-first +second):\n%s\nof %s", diff, input)
				}
			})
		})
	}
}

// drawNode draws a value in a random style, with and without comments.
func drawNode(t *rapid.T, depth int) *yaml.Node {
	node := &yaml.Node{LineComment: rapid.SampledFrom([]string{"", "", "# old"}).Draw(t, "comment")}
	kinds := []yaml.Kind{yaml.ScalarNode, yaml.SequenceNode, yaml.MappingNode}
	if depth == 0 {
		kinds = kinds[1:]
	} else if depth > 3 {
		kinds = kinds[:1]
	}
	node.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
	if node.Kind == yaml.ScalarNode {
		node.Value = rapid.SampledFrom([]string{"one", "two", "onetwo", "", "three", "o\nne"}).Draw(t, "text")
		node.Style = rapid.SampledFrom([]yaml.Style{0, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle}).Draw(t, "style")
		node.Tag = yaml.NodeTagString
		return node
	}
	node.Style = rapid.SampledFrom([]yaml.Style{0, yaml.FlowStyle}).Draw(t, "style")
	for i := range rapid.IntRange(0, 3).Draw(t, "length") {
		if node.Kind == yaml.MappingNode {
			node.Content = append(node.Content, nodes.String(string(rune('a'+i))))
		}
		node.Content = append(node.Content, drawNode(t, depth+1))
	}
	return node
}

// itemValues returns the items of a list without styles and comments.
func itemValues(t *rapid.T, list []byte) (values []any) {
	rl, err := fn.ParseResourceList(list)
	if err != nil {
		t.Fatalf("error = %v; list:\n%s", err, list)
	}
	for _, item := range rl.Items {
		var value any
		if err := function.NodeOf(item).Decode(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	return values
}
