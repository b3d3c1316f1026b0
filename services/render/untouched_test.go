// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A function that changes one resource leaves the bytes of all others unchanged, including comments and aliases.
func TestUnchangedResourcesKeepTheirBytes(t *testing.T) {
	t.Parallel()
	const (
		licence   = "# Copyright\n# Licence\n---\n"
		untouched = "# head\n\n# of the first field\napiVersion: v1\nkind:   A # line\nmetadata:\n    name: a\n    # foot of name\nspec:\n    text: >\n        folded\n        text\n" +
			"    list:\n    - &v one # one\n\n    # two\n    - *v\n# foot\n"
		touched = "apiVersion: v1\nkind: A\nmetadata: {name: b}\nspec:\n    value: before\n    anchor: &v same\n    alias: *v\n"
	)
	r := renderFiles(t, map[string]string{
		"Kptfile": kpt(mutators("change", "{image: change}")), "a.yaml": licence + untouched + "---\n" + touched + "--- # end\n",
	}, map[string]func([]byte) ([]byte, error){
		"change": func(list []byte) ([]byte, error) {
			changed, _ := replace("value: before", "value: after")(list)
			return replace("alias: *v", "alias: same")(changed)
		},
	})
	if r.err != nil {
		t.Fatal(r.err)
	}
	want := licence + untouched + "---\napiVersion: v1\nkind: A\nmetadata: {name: b}\nspec:\n  value: after\n  anchor: &v same\n  alias: *v\n--- # end\n"
	if diff := cmp.Diff(want, r.files["a.yaml"]); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
