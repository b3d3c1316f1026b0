// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

func parsed(t testing.TB, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return &n
}

func TestSame(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("a: &a0 [x, x]\n")
	for i := range 40 {
		fmt.Fprintf(&text, "b%d: &a%d [*a%d, *a%d]\n", i, i+1, i, i)
	}
	laughs := text.String()
	for name, tc := range map[string]struct {
		a, b string
		want bool
	}{
		"styles":            {"a: b\nc: [d, e]\nf: 'g'\nh: >-\n  i\n  j\n", "{a: \"b\", \"c\":\n  [ d, e], f: g, h: i j}\n", true},
		"values":            {"a: b\n", "a: c\n", false},
		"types":             {"a: 1\n", "a: '1'\n", false},
		"order":             {"a: b\nc: d\n", "c: d\na: b\n", false},
		"length":            {"a: [b]\n", "a: [b, c]\n", false},
		"kinds":             {"a: {}\n", "a: []\n", false},
		"YAML 1.1":          {"a: on\n", "a: 'on'\n", false},
		"sexagesimal":       {"a: 1:30\n", "a: '1:30'\n", false},
		"comments":          {"a: b # c\n", "a: b\n", false},
		"moved comments":    {"# h\n\n# i\na: b\n", "# h\n# i\na: b\n", true},
		"blank lines":       {"a: b\n\n\n# c\nd: e\n", "a: b\n# c\nd: e\n", true},
		"expanded alias":    {"a: &x {b: c}\nd: *x\n", "a: {b: c}\nd: {b: c}\n", true},
		"another alias":     {"a: &x {b: c}\nd: *x\n", "a: {b: c}\nd: {b: d}\n", false},
		"custom tags":       {"a: !x b\n", "a: !y b\n", false},
		"billions of nodes": {laughs, "\n" + laughs, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := yamlnode.Same(parsed(t, tc.a), parsed(t, tc.b)); got != tc.want {
				t.Errorf("Same() = %t, want %t", got, tc.want)
			}
			if got := yamlnode.Same(parsed(t, tc.b), parsed(t, tc.a)); got != tc.want {
				t.Errorf("Same() with swapped arguments = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestRestoreAliases(t *testing.T) {
	t.Parallel()
	const from = "a: &x {b: 1}\nc: *x\nd: &y [*x, e]\nf: *y\n<<: *x\n"
	for name, tc := range map[string]struct{ to, want string }{
		"all unchanged":             {"a: {b: 1}\nc: {b: 1}\nd: [{b: 1}, e]\nf: [{b: 1}, e]\n<<: {b: 1}\nnew: g\n", from + "new: g\n"},
		"value changed":             {"a: {b: 1}\nc: {b: 2}\nd: [{b: 1}, e]\nf: [{b: 1}, e]\n", "a: &x {b: 1}\nc: {b: 2}\nd: &y [*x, e]\nf: *y\n"},
		"anchor changed":            {"a: &x {b: 2}\nc: {b: 1}\nd: [{b: 1}, e]\nf: [{b: 1}, e]\n", "a: &x {b: 2}\nc: {b: 1}\nd: &y [{b: 1}, e]\nf: *y\n"},
		"anchor removed":            {"c: {b: 1}\n", "c: {b: 1}\n"},
		"alias before its anchor":   {"c: {b: 1}\na: {b: 1}\n", "c: {b: 1}\na: {b: 1}\n"},
		"another anchor's name":     {"a: &z {b: 1}\nc: {b: 1}\n", "a: &z {b: 1}\nc: {b: 1}\n"},
		"another anchor in between": {"a: {b: 1}\nnew: &x 5\nc: {b: 1}\n", "a: {b: 1}\nnew: &x 5\nc: {b: 1}\n"},
		"no alias expanded":         {from, from},
		"another kind":              {"- a\n", "- a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := parsed(t, tc.to)
			before := parsed(t, tc.to)
			yamlnode.RestoreAliases(parsed(t, from), to)
			text, err := yaml.Marshal(to)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(text)); diff != "" {
				t.Errorf("RestoreAliases() (-want +got):\n%s", diff)
			}
			if !yamlnode.SameValues(before, to) {
				t.Error("RestoreAliases() changed values")
			}
		})
	}
}
