// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	root := yaml.MustParse("a: &x {b: c, none: , empty: ''}\nd: *x\n'e': [b, c]\n? [b]\n: f\n").Document()
	for _, tc := range []struct {
		path []string
		text string
		null bool
	}{
		{[]string{"a", "b"}, "c", false},
		{[]string{"d", "b"}, "c", false},
		{[]string{"a", "none"}, "", true},
		{[]string{"a", "empty"}, "", false},
		{[]string{"a", "missing"}, "", true},
		{[]string{"missing", "b"}, "", true},
		{[]string{"e"}, "", false},
		{[]string{"e", "b"}, "", true},
		{[]string{"b"}, "", true},
	} {
		n := yamlnode.Lookup(root, tc.path...)
		if text, null := yamlnode.Text(n), yamlnode.IsNull(n); text != tc.text || null != tc.null {
			t.Errorf("Lookup(%v): text %q, null %v, want %q, %v", tc.path, text, null, tc.text, tc.null)
		}
	}
	mapping := yamlnode.Resolve(root)
	if alias := yamlnode.Field(mapping, "d"); alias == nil || !yamlnode.IsAlias(alias) || yamlnode.Resolve(alias) != yamlnode.Field(mapping, "a") {
		t.Error("Field() resolves an alias")
	}
	if yamlnode.Position(mapping, "e") != 4 || yamlnode.Position(mapping, "x") != -1 || yamlnode.Position(nil, "x") != -1 {
		t.Errorf("Position() of e, x, and x in nil = %d, %d, %d, want 4, -1, -1",
			yamlnode.Position(mapping, "e"), yamlnode.Position(mapping, "x"), yamlnode.Position(nil, "x"))
	}
	if !yamlnode.Contains(root, yamlnode.IsAlias) || yamlnode.Contains(nil, yamlnode.IsAlias) {
		t.Error("Contains() misses the alias, or finds one below nil")
	}
}

func TestMakeMappingAndRemove(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"k: v\n":              "k: v\nnew:\n  a: b\n",
		"new: # c\nk: v\n":    "new: # c\n  a: b\nk: v\n",
		"new: null # c\n":     "new: # c\n  a: b\n",
		"{k: v, new: null}\n": "{k: v, new: {a: b}}\n",
		"{k: v}\n":            "{k: v, new: {a: b}}\n",
	} {
		root := yaml.MustParse(in)
		made := yamlnode.MakeMapping(root.YNode(), yaml.NewStringRNode("new").YNode())
		made.Content = append(made.Content, yaml.NewStringRNode("a").YNode(), yaml.NewStringRNode("b").YNode())
		if diff := cmp.Diff(want, root.MustString()); diff != "" {
			t.Errorf("MakeMapping() in %q (-want +got):\n%s", in, diff)
		}
		yamlnode.Remove(root.YNode(), "new", "k", "missing")
		if got := root.MustString(); got != "{}\n" {
			t.Errorf("Remove() of all fields of %q leaves %q", in, got)
		}
	}
	yamlnode.Remove(nil, "a")
}
