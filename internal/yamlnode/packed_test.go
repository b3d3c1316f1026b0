// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

func FuzzPack(f *testing.F) {
	f.Add(copied)
	f.Add("# head\na: # line\n  - !own {b: 'c', d: \"e\"} # of an item\n  - |\n    text\n# foot\n")
	f.Add("a: &x 1\nb: *x\n")
	f.Add("- 1.5\n- null\n- true\n- ~\n- 0x1\n- 2001-01-01\n- >-\n  folded\n")
	f.Add(strings.Repeat(" ", 70000) + "a: b\n")
	f.Fuzz(func(t *testing.T, text string) {
		var n yaml.Node
		if yaml.Unmarshal([]byte(text), &n) != nil || n.Kind == 0 {
			return
		}
		packed := yamlnode.Pack(&n)
		if packed == nil {
			if !yamlnode.Contains(&n, func(n *yaml.Node) bool { return n.Anchor != "" || n.Kind == yaml.AliasNode || n.Column > 1<<16-1 }) {
				t.Errorf("Pack() = nil for %q", text)
			}
			return
		}
		for range 2 {
			got := packed.Node()
			if diff := cmp.Diff(&n, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%q (-packed +unpacked):\n%s", text, diff)
			}
			// A change to an unpacked node must not affect the packed one.
			spoil(got)
		}
		from := packed.Reader()
		read(t, &from, &n)
		styles, feet := yaml.Style(0), false
		yamlnode.Contains(&n, func(n *yaml.Node) bool {
			styles, feet = styles|n.Style, feet || n.FootComment != ""
			return false
		})
		if packed.Styles() != styles || packed.HasFootComments() != feet {
			t.Errorf("%q: want styles %b, foot comments %v; got %b, %v", text, styles, feet, packed.Styles(), packed.HasFootComments())
		}
	})
}

// read fails the test if a Reader's nodes differ from n.
func read(t *testing.T, from *yamlnode.Reader, n *yaml.Node) {
	t.Helper()
	want := yamlnode.Seen{Kind: n.Kind, Below: len(n.Content), Value: n.Value, Comments: yamlnode.CommentsOf(n)}
	if diff := cmp.Diff([]yamlnode.Seen{want, want}, []yamlnode.Seen{from.Peek(), from.Next()}); diff != "" {
		t.Fatalf("Reader (-want +got):\n%s", diff)
	}
	for _, below := range n.Content {
		read(t, from, below)
	}
}

func spoil(n *yaml.Node) {
	for _, below := range n.Content {
		spoil(below)
	}
	n.Content = append(n.Content, &yaml.Node{})
	n.Value, n.Tag, n.LineComment = "spoilt", "!spoilt", "# spoilt"
}

func TestPackNothing(t *testing.T) {
	t.Parallel()
	if yamlnode.Pack(nil) != nil {
		t.Error("Pack(nil) is not nil")
	}
}
