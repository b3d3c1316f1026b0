// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/images/reference"
)

func TestVersionTags(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"v0.4.5", "v0.4"}, reference.VersionTags("v0.4.5")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNamesVersion(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]bool{
		"r.io/x:v9.9.9": true, "x:0.1": true, "x:v1": true, "x:v1.2.3-rc.1": true,
		"x": false, "x:latest": false, "x:unstable": false, "r.io:5000/x": false, "x:main-2": false,
	} {
		if got := reference.NamesVersion(ref); got != want {
			t.Errorf("NamesVersion(%q) = %v", ref, got)
		}
	}
}

func TestSubstitution(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ ref, version, want string }{
		{reference.CatalogPrefix + "/set-labels:v9.9.9", "v0.2.0", "set-labels:v9.9.9 is evaluated by v0.2.0"},
		{"r.io:5000/set-labels:v0.2.5", "v0.2.0", "set-labels:v0.2.5 is evaluated by v0.2.0"},
		{"set-labels:latest", "v0.2.0", "set-labels:latest is evaluated by v0.2.0"},
		{"set-labels:v0.20", "v0.2.0", "set-labels:v0.20 is evaluated by v0.2.0"},
		// The tag matches the version.
		{"set-labels:v0.2.0", "v0.2.0", ""},
		{"r.io/x/set-labels:v0.2", "v0.2.0", ""},
		{"r.io:5000/set-labels", "v0.2.0", ""},
		// The version is unknown.
		{"set-labels:v9.9.9", "", ""},
	} {
		if got := reference.Substitution(tc.ref, tc.version); got != tc.want {
			t.Errorf("Substitution(%q, %q) = %q, want %q", tc.ref, tc.version, got, tc.want)
		}
	}
}

func TestSameMinor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tag, of string
		want    bool
	}{
		"the version itself":      {"v0.2.0", "v0.2.0", true},
		"an older patch release":  {"v0.4.1", "v0.4.5", true},
		"a newer patch release":   {"v0.2.11", "v0.2.0", true},
		"without a v":             {"0.2.1", "v0.2.0", true},
		"another minor version":   {"v0.1.5", "v0.2.0", false},
		"another major version":   {"v1.2.0", "v0.2.0", false},
		"not a full version":      {"v0.2", "v0.2.0", false},
		"a pre-release":           {"v0.2.1-rc.1", "v0.2.0", false},
		"a floating tag":          {"latest", "v0.2.0", false},
		"an unknown version":      {"v0.2.0", "", false},
		"a tag of a signature":    {"sha256-0", "v0.2.0", false},
		"a tag of another format": {"v0.2.1-git-1", "v0.2.0", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := reference.SameMinor(tc.tag, tc.of); got != tc.want {
				t.Errorf("SameMinor(%q, %q) = %v, want %v", tc.tag, tc.of, got, tc.want)
			}
		})
	}
}
