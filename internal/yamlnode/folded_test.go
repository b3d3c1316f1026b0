// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlnode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

func TestQuoteFolded(t *testing.T) {
	t.Parallel()
	for text, quoted := range map[string]bool{
		">-\n  a\n  b\n":           false,
		">\n  a\n\n  b\n":          false,
		">-\n  a\n    b\n  c\n":    true,
		">\n  a\n   - b\n   - c\n": true,
		">+\n  a\n\n\n":            true,
		"|\n  a\n    b\n":          false,
		"'a'":                      false,
	} {
		r, err := yaml.Parse("text: " + text)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := r.Map()
		yamlnode.QuoteFolded(r.Document())
		printed, err := r.String()
		if err != nil {
			t.Fatal(err)
		}
		if n := yamlnode.Lookup(r.YNode(), "text"); (n.Style&yaml.DoubleQuotedStyle != 0) != quoted {
			t.Errorf("folded text %q is printed as\n%s", text, printed)
		}
		again, err := yaml.Parse(printed)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := again.Map()
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%q (-before +after):\n%s", text, diff)
		}
	}
}
