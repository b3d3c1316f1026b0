// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"
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
				t.Errorf("tags %q: want %s and %s among them", f.Tags, f.Version, minor)
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
	if !slices.IsSortedFunc(all, func(a, b Function) int { return strings.Compare(a.Name, b.Name) }) {
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
	if len(all) != len(catalog) {
		t.Errorf("All() has %d functions of %d", len(all), len(catalog))
	}
	if f, ok := Lookup("no-such-function"); ok {
		t.Errorf("Lookup of an unknown name found %q", f.Name)
	}
}

func TestRegisterRefuses(t *testing.T) { //nolint:paralleltest // it would add to the catalog if it failed
	process := func(context.Context, *fn.ResourceList) (bool, error) { return true, nil }
	whole := Function{Name: "whole", Version: "v1.0.0", Tags: []string{"v1.0.0"}, Summary: "is whole", Process: process}
	change := func(change func(f *Function)) Function {
		f := whole
		change(&f)
		return f
	}
	before := maps.Clone(catalog)
	for name, f := range map[string]Function{
		"a name that is taken": change(func(f *Function) { f.Name = "set-labels" }),
		"no name":              change(func(f *Function) { f.Name = "" }),
		"no version":           change(func(f *Function) { f.Version = "" }),
		"no tags":              change(func(f *Function) { f.Tags = nil }),
		"no summary":           change(func(f *Function) { f.Summary = "" }),
		"no process":           change(func(f *Function) { f.Process = nil }),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it was registered", name)
				}
			}()
			register(f)
		}()
	}
	if len(catalog) != len(before) {
		t.Errorf("the catalog grew from %d to %d functions", len(before), len(catalog))
	}
}

func TestNoFunctionConfig(t *testing.T) {
	t.Parallel()
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			rl := &fn.ResourceList{}
			if _, err := f.Process(t.Context(), rl); err != nil {
				t.Errorf("with a nil FunctionConfig: %v", err)
			}
			if rl.FunctionConfig == nil {
				t.Error("the FunctionConfig is still nil")
			}
		})
	}
}
