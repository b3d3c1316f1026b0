// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var whole = Function{Name: "whole", Version: "v1.0.0", Summary: "is whole", Process: pass.Process}

func changed(change func(f *Function)) Function {
	f := whole
	change(&f)
	return f
}

func TestNewSetPanics(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]Function{
		"duplicate name":  whole,
		"no name":         changed(func(f *Function) { f.Name = "" }),
		"no version":      changed(func(f *Function) { f.Name, f.Version = "a", "" }),
		"a short version": changed(func(f *Function) { f.Name, f.Version = "a", "v1.0" }),
		"no summary":      changed(func(f *Function) { f.Name, f.Summary = "a", "" }),
		"no process":      changed(func(f *Function) { f.Name, f.Process = "a", nil }),
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: NewSet() did not panic", name)
				}
			}()
			NewSet(whole, f)
		}()
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	set := NewSet(whole, changed(func(f *Function) { f.Name, f.Releases = "a", []string{"v0.9.0", "v1.0.1"} }))
	if len(set) != 2 || set[0].Name != "a" || set[1].Name != "whole" {
		t.Errorf("NewSet() = %v, want 2 functions sorted by name", set)
	}
	if f, ok := set.Lookup("whole"); !ok || f.Name != "whole" {
		t.Errorf("Lookup() = %q, %v", f.Name, ok)
	}
	if f, ok := set.Lookup("other"); ok {
		t.Errorf("Lookup() of an unknown name = %q", f.Name)
	}
	if diff := cmp.Diff([]string{"v1.0.0", "v1.0"}, set.Tags("whole")); diff != "" || set.Tags("other") != nil || Set(nil).Tags("whole") != nil {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"v1.0.0", "v1.0", "v0.9.0", "v1.0.1"}, set.Tags("a")); diff != "" || set[0].OwnsTag("v1.0.1") {
		t.Errorf("tags with other releases (-want +got):\n%s", diff)
	}
}
