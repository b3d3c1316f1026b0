// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"os"
	"path/filepath"
	"testing"
)

// Root may do anything in any directory, so what happens to others is tested by what comes of the permissions.
func TestMakeAccessible(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	inner := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(inner, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{inner, filepath.Dir(inner), outside} {
		if err := os.Chmod(d, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	makeAccessible(dir)
	for d, want := range map[string]os.FileMode{inner: 0o700, filepath.Dir(inner): 0o700, outside: 0o500} {
		info, err := os.Stat(d)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v (%v), want %v", d, info.Mode().Perm(), err, want)
		}
	}
}
