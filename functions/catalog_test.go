// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"regexp"
	"slices"
	"strings"
	"testing"

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
				t.Errorf("name %q is no image name", f.Name)
			}
			if !version.MatchString(f.Version) {
				t.Errorf("version %q is not like v1.2.3", f.Version)
			}
			minor := f.Version[:strings.LastIndex(f.Version, ".")]
			if !f.OwnsTag(f.Version) || !f.OwnsTag(minor) || f.OwnsTag("v99.0.0") || f.OwnsTag("") {
				t.Errorf("tags %q: want %s and %s among them", f.Tags(), f.Version, minor)
			}
			if f.Summary == "" || strings.HasSuffix(f.Summary, ".") || strings.Contains(f.Summary, "\n") {
				t.Errorf("summary %q is not one line without a full stop", f.Summary)
			}
			if f.Config == "" {
				t.Error("it does not say what functionConfig it takes")
			}
		})
	}
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	all := All()
	if !slices.IsSortedFunc(all, func(a, b function.Function) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("functions are not sorted by name")
	}
	for _, name := range []string{
		"apply-replacements", "apply-setters", "ensure-name-substring", "set-annotations", "set-labels", "set-namespace",
		"set-project-id", "starlark", "upsert-resource",
	} {
		if f, ok := Lookup(name); !ok || f.Name != name {
			t.Errorf("Lookup(%q) = %q, %v", name, f.Name, ok)
		}
	}
	if f, ok := Lookup("no-such-function"); ok {
		t.Errorf("Lookup of an unknown name found %q", f.Name)
	}
}

func TestNoFunctionConfig(t *testing.T) {
	t.Parallel()
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			rl := &fn.ResourceList{}
			if err := f.Apply(t.Context(), rl); err != nil && err.Error() != functiontest.Failed {
				t.Errorf("with a nil FunctionConfig: %v", err)
			}
			if rl.FunctionConfig == nil {
				t.Error("the FunctionConfig is still nil")
			}
		})
	}
}
