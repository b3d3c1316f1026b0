// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/services/images/reference"
)

func TestFunctionConstraint(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, tag, prefix, repository string }{
		{"set-labels", "~0.1", reference.CatalogPrefix, reference.CatalogPrefix + "/set-labels"},
		{"r.io:5000/x:v1@sha256:" + hex, ">=1.0 <2", "", "r.io:5000/x"},
		{"alpine", "*", "", "docker.io/library/alpine"},
		{"r.io/x", "1.x", "", "r.io/x"},
		{"r.io/x", "0.1 || ^2", "", "r.io/x"},
		// Exact versions, other tags, and invalid input.
		{"r.io/x", "", "", ""},
		{"r.io/x", "1", "", ""},
		{"r.io/x", "v0.1", "", ""},
		{"r.io/x", "v1.2.3-rc.1", "", ""},
		{"r.io/x", "latest", "", ""},
		{"r.io/x", "a/b", "", ""},
		{"r.io/UPPER", "~1", "", ""},
		{"", "~1", "", ""},
	} {
		want := reference.Constraint{Repository: tc.repository}
		if tc.repository != "" {
			want.Versions = tc.tag
		}
		got, ok := reference.FunctionConstraint(tc.name, tc.tag, tc.prefix)
		if got != want || ok != (tc.repository != "") {
			t.Errorf("FunctionConstraint(%q, %q) = %+v, %v", tc.name, tc.tag, got, ok)
		}
		if _, err := reference.ForFunction(tc.name, tc.tag, tc.prefix); ok && err == nil {
			t.Errorf("ForFunction(%q, %q) of a constraint = nil, want an error", tc.name, tc.tag)
		}
	}
}

func TestConstraintResolve(t *testing.T) {
	t.Parallel()
	tags := []string{
		"latest", "main", "v0.1", "v0.1.0", "v0.1.3", "0.1.2", "v0.1.9-git-abc", "sha256-" + hex + ".sig", "v0.1.10", "v0.2.0-rc.1", "v0.2.1",
		"v1", "v1.0.0", "v1.0", "1.0.0", "v3.0.0+build", "", "v0.1.10-" + strings.Repeat("a", 128), "v99999999999999999999.0.0",
	}
	for constraint, want := range map[string]string{
		"~0.1": "v0.1.10", "0.1.x": "v0.1.10", "<0.1.4": "v0.1.3", "<0.1.3": "0.1.2", "<=0.1.0": "v0.1.0", "^0.2": "v0.2.1", "~0.2.0-0": "v0.2.1",
		"<0.2.1-0 >0.1": "v0.2.0-rc.1", ">=0.2.0-rc.1 <0.2.1": "v0.2.0-rc.1", "*": "v1.0.0", "~1": "v1.0.0", "=0.1.2 || =0.1.3": "v0.1.3",
	} {
		c := reference.Constraint{Repository: "r.io/x", Versions: constraint}
		for range 2 {
			got, err := c.Resolve(tags)
			if err != nil || got != "r.io/x:"+want {
				t.Errorf("Resolve() of %s = %q, %v; want %s", constraint, got, err, want)
			}
			slices.Reverse(tags)
		}
	}
	for _, tc := range []struct {
		tags []string
		want string
	}{
		{tags, `no tag could be found matching the version constraint "~9": the highest version of r.io/x is v1.0.0`},
		{[]string{"latest", "sha256-1"}, `no tag could be found matching the version constraint "~9": r.io/x has no tag that is a version, among 2 tags`},
		{nil, `no tag could be found matching the version constraint "~9": r.io/x has no tag that is a version, among 0 tags`},
	} {
		if got, err := (reference.Constraint{Repository: "r.io/x", Versions: "~9"}).Resolve(tc.tags); err == nil || err.Error() != tc.want {
			t.Errorf("Resolve(%v) = %q, %v", tc.tags, got, err)
		}
	}
	if _, err := (reference.Constraint{Repository: "r.io/x", Versions: "latest"}).Resolve(tags); err == nil {
		t.Error("Resolve() of an invalid constraint = nil, want an error")
	}
}

// The result is a tag of the list and a valid reference, for any input.
func FuzzConstraint(f *testing.F) {
	f.Add("r.io/x", "~0.1", "v0.1 v0.1.3 latest")
	f.Add("alpine", ">=1.0.0-0", "1.0 1.0.0-rc.1 2.0.0+b")
	f.Fuzz(func(t *testing.T, name, tag, list string) {
		c, ok := reference.FunctionConstraint(name, tag, reference.CatalogPrefix)
		if !ok {
			return
		}
		tags := strings.Fields(list)
		got, err := c.Resolve(tags)
		if err != nil {
			return
		}
		if err := reference.Validate(got); err != nil {
			t.Errorf("Resolve() of %s with %q: %v", tag, list, err)
		}
		repository, chosen, digest := reference.Split(got)
		if repository != c.Repository || digest != "" || !slices.Contains(tags, chosen) {
			t.Errorf("Resolve() of %s with %q = %q", tag, list, got)
		}
		slices.Reverse(tags)
		if again, _ := c.Resolve(tags); again != got {
			t.Errorf("Resolve() of %s with %q = %q, and in reverse order %q", tag, list, got, again)
		}
	})
}
