// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// setField sets a top-level field of a document to [x].
func setField(document *yaml.Node, name string) *yaml.Node {
	document = yamlnode.Copy(document)
	root := document.Content[0]
	value := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq, Content: []*yaml.Node{yamlnode.String("x", 0)}}
	if at := yamlnode.Position(root, name); at >= 0 {
		root.Content[at+1] = value
	} else {
		root.Content = append(root.Content, yamlnode.String(name, 0), value)
	}
	return document
}

func TestSpliceFields(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"a:   1\n\n# of b\nb: # line\n    c: |\n      # text\n\n\n# of d\n\nd: [1,\n  2]\n# end\n": "a:   1\n\n# of b\nb: # line\n  - x\n\n\n# of d\n\nd: [1,\n  2]\n# end\n",
		"---\na:   1\n\n":                    "---\na:   1\n\nb:\n  - x\n",
		"a:   1\nb:\n- 1\n# in\n- 2\nc: d\n": "a:   1\nb:\n  - x\nc: d\n",
		"b: 1\n":                             "b:\n  - x\n",
		// spliceFields does not support these.
		"{a: 1}\n": "", "a: 1": "", "a: &x 1\nb: &y 2\nc: *y\n": "", "a: 1\r\n": "", "a: 1\n---\nb: 1\n": "", "? a\n: b\n": "", "a: 1\n...\n": "",
	} {
		n, ok := decodeDocument(before)
		if !ok {
			t.Fatalf("%q is not a mapping", before)
		}
		got, ok := spliceFields(before, setField(n, "b"))
		if diff := cmp.Diff(want, string(got)); ok != (want != "") || ok && diff != "" {
			t.Errorf("spliceFields(%q): ok = %t (-want +got):\n%s", before, ok, diff)
		}
	}
}

// FuzzSpliceFields sets one field of an arbitrary document. The result must decode to the edited document, with all comments.
func FuzzSpliceFields(f *testing.F) {
	for _, text := range []string{odd, other, "a: 1\n\n# b\nb:\n  - c # d\n  # e\n\n# f\ng: |+\n  h\n\n", "a: >\n  b\n\n# c\n", "a: &x 1\nb: *x\n", "---\n# a\n\nb: c\n"} {
		for _, field := range []string{"a", "b", "list", "metadata", "z"} {
			f.Add(text, field)
		}
	}
	f.Fuzz(func(t *testing.T, before, field string) {
		n, ok := decodeDocument(before)
		if !ok || n == nil || !yamlnode.Finite(n) || strings.ContainsFunc(field, func(r rune) bool { return r < 'a' || r > 'z' }) || field == "" {
			return
		}
		edited := setField(n, field)
		after, ok := spliceFields(before, edited)
		if !ok {
			return
		}
		again, ok := decodeDocument(string(after))
		if !ok || again == nil || !yamlnode.SameValues(edited, again) {
			t.Fatalf("spliceFields(%q) with %s set does not decode to the edited document:\n%s", before, field, after)
		}
		for _, n := range []*yaml.Node{edited, again} {
			n.Content[0].Content[yamlnode.Position(n.Content[0], field)].LineComment = ""
		}
		if !yamlnode.Same(edited, setField(again, field)) {
			t.Errorf("spliceFields(%q) with %s set changes comments:\n%s", before, field, after)
		}
	})
}
