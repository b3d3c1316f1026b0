// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

func TestEveryFunctionIsDescribed(t *testing.T) {
	t.Parallel()
	var (
		name    = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
		version = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)
	)
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			if !name.MatchString(f.Name) {
				t.Errorf("name %q is not an image name", f.Name)
			}
			if !version.MatchString(f.Version) {
				t.Errorf("version %q, want the form v1.2.3", f.Version)
			}
			minor := f.Version[:strings.LastIndex(f.Version, ".")]
			if !f.OwnsTag(f.Version) || !f.OwnsTag(minor) || f.OwnsTag("v99.0.0") || f.OwnsTag("") {
				t.Errorf("tags %q: want %s and %s among them", f.Tags(), f.Version, minor)
			}
			if f.Summary == "" || strings.HasSuffix(f.Summary, ".") || strings.Contains(f.Summary, "\n") {
				t.Errorf("summary %q is not one line without a full stop", f.Summary)
			}
			if f.Config == "" {
				t.Error("Config is empty, want a description of the functionConfig")
			}
		})
	}
}

// QUIRKS.md lists the releases of every function and which of them is implemented.
func TestReleases(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| function | behaves as | other releases that are known |\n| --- | --- | --- |\n")
	for _, f := range All() {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", f.Name, f.Version, strings.Join(f.Releases, ", "))
		releases := append([]string{f.Version}, f.Releases...)
		parsed := make([]*semver.Version, len(releases))
		for i, release := range releases {
			var err error
			if parsed[i], err = semver.StrictNewVersion(strings.TrimPrefix(release, "v")); err != nil || release[0] != 'v' {
				t.Fatalf("%s: release %q, %v: want the form v1.2.3", f.Name, release, err)
			}
			if i > 1 && !parsed[i-1].LessThan(parsed[i]) || i > 0 && parsed[i].Equal(parsed[0]) {
				t.Errorf("%s: releases %v after the implemented one are not in descending order", f.Name, releases)
			}
		}
	}
	quirks, err := os.ReadFile("QUIRKS.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(quirks), "\n"+table.String()) {
		t.Errorf("QUIRKS.md lacks this table:\n%s", &table)
	}
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	all := All()
	if !slices.IsSortedFunc(all, func(a, b function.Function) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("functions are not sorted by name")
	}
	for _, name := range []string{
		"apply-replacements", "apply-setters", "delete-annotations", "ensure-name-substring", "set-annotations", "set-labels", "set-namespace",
		"set-project-id", "set-name-prefix", "starlark", "upsert-resource",
	} {
		if f, ok := Lookup(name); !ok || f.Name != name {
			t.Errorf("Lookup(%q) = %q, %v", name, f.Name, ok)
		}
	}
	if f, ok := Lookup("no-such-function"); ok {
		t.Errorf("Lookup() of an unknown name = %q", f.Name)
	}
}

func TestNoFunctionConfig(t *testing.T) {
	t.Parallel()
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			rl := &fn.ResourceList{}
			if err := f.Apply(t.Context(), rl); err != nil && err.Error() != functiontest.Failed {
				t.Errorf("Apply() with a nil FunctionConfig = %v", err)
			}
			if rl.FunctionConfig == nil {
				t.Error("the FunctionConfig is still nil")
			}
		})
	}
}
