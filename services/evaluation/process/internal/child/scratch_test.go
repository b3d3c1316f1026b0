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

// Directories in a volume that belongs to a group, such as that of a pod with fsGroup, have the group and its bit, too.
func TestScratchOfAGroupIsUsedAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Chmod(root, 0o770|os.ModeSetgid); err != nil { //nolint:gosec // G302: as the kubelet makes them
		t.Fatal(err)
	}
	s := newScratch(root)
	first, err := s.take()
	if err != nil {
		t.Fatal(err)
	}
	s.give(first)
	if second, err := s.take(); err != nil || second != first {
		t.Errorf("got %s (%v), want %s again", second, err, first)
	}
}
