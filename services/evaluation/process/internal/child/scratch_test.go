// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/krmfn/krmfn/services/evaluation/process/internal/processtest"
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
	if err := os.Chmod(root, 0o770|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	s := newScratch(root)
	first, err := s.take()
	if err != nil {
		t.Fatal(err)
	}
	s.give(first)
	if second, err := s.take(); err != nil || second != first {
		t.Errorf("got %v (%v), want %s again", second, err, first.path)
	}
}

// A directory that has been empty for long enough is known to be by its times alone, and whatever happens in it shows in them.
func TestPristine(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dir string) error{
		"a file":               func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) },
		"a directory":          func(dir string) error { return os.Mkdir(filepath.Join(dir, "x"), 0o700) },
		"its mode":             func(dir string) error { return os.Chmod(dir, 0o750) },
		"another in its place": func(dir string) error { return errors.Join(os.Rename(dir, dir+"-old"), os.Mkdir(dir, 0o755)) },
		"nothing any more":     os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &directory{path: filepath.Join(t.TempDir(), "scratch")}
			if err := os.Mkdir(d.path, 0o700); err != nil {
				t.Fatal(err)
			}
			processtest.WaitFor(t, func() bool { return !d.pristine() || d.empty.Ino != 0 })
			for range 3 {
				if !d.pristine() {
					t.Error("an empty directory is not pristine")
				}
			}
			if err := change(d.path); err != nil {
				t.Fatal(err)
			}
			if d.pristine() {
				t.Error("it is pristine nevertheless")
			}
		})
	}
}
