// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/render/packages"
)

// While one process holds the lock, Lock and Apply of another fail. Close releases the lock.
func TestLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.yaml": "old", "sub/b.yaml": "old"})
	first, second := openDir(t, dir), openDir(t, dir)
	if err := first.Lock(); err != nil {
		t.Fatal(err)
	}
	changes := readAll(t, second, "second", "a.yaml")
	for what, err := range map[string]error{"lock": second.Lock(), "apply": second.Apply(changes)} {
		if !errors.As(err, new(*packages.LockedError)) || err.Error() != dir+" is being changed by another krmfn: wait until it has ended" {
			t.Errorf("%s = %v, want a LockedError", what, err)
		}
	}
	if err := errors.Join(first.Apply(readAll(t, first, "first", "a.yaml")), first.Close()); err != nil {
		t.Fatal(err)
	}
	if err := second.Apply(changes); !errors.As(err, new(*packages.ChangedError)) {
		t.Errorf("Apply() over another process's change = %v, want a ChangedError", err)
	}
	if err := second.Lock(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]string{"a.yaml": "first", "sub/b.yaml": "old"}, readFiles(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// Apply deletes the temporary files of a killed Apply, unless a running one may own them because it has locked a directory
// above them.
func TestApplyRemovesLeftovers(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "pkg")
	before := map[string]string{"a.yaml": "old", ".krmfn-1.tmp": "", "sub/.krmfn-2.tmp": "", "sub/deep/.krmfn-3.tmp": "", "sub/.krmfn-3.yaml": "not ours"}
	for name, tc := range map[string]struct {
		locked string
		left   []string
	}{
		"lock above":      {top, []string{".krmfn-1.tmp", "sub/.krmfn-2.tmp", "sub/deep/.krmfn-3.tmp"}},
		"lock below":      {filepath.Join(dir, "sub"), []string{"sub/.krmfn-2.tmp", "sub/deep/.krmfn-3.tmp"}},
		"lock in sibling": {filepath.Join(top, "other"), nil},
	} {
		writeFiles(t, dir, before)
		writeFiles(t, filepath.Join(top, "other"), map[string]string{"x": ""})
		other := openDir(t, tc.locked)
		if err := other.Lock(); err != nil {
			t.Fatal(err)
		}
		d := openDir(t, dir)
		paths, err := d.Paths()
		slices.Sort(paths)
		if diff := cmp.Diff([]string{"a.yaml", "sub/.krmfn-3.yaml"}, paths); err != nil || diff != "" {
			t.Errorf("%s: Paths() error = %v, (-want +got):\n%s", name, err, diff)
		}
		if err := errors.Join(d.Apply(nil), other.Close(), d.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := map[string]string{"a.yaml": "old", "sub/.krmfn-3.yaml": "not ours"}
		for _, p := range tc.left {
			want[p] = ""
		}
		if diff := cmp.Diff(want, readFiles(t, dir)); diff != "" {
			t.Errorf("%s: remaining files (-want +got):\n%s", name, diff)
		}
	}
}
