// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/krmfn/krmfn/internal/process/internal/processtest"
)

// The test compares permissions because root can remove files whatever the permissions are.
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
			t.Errorf("mode of %s = %v (error %v), want %v", d, info.Mode().Perm(), err, want)
		}
	}
}

// A directory in a volume with a setgid bit, such as a pod's volume with fsGroup, inherits group and bit. It is reused nevertheless.
func TestScratchWithSetgidIsReused(t *testing.T) {
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
		t.Errorf("take() = %v (error %v), want %s again", second, err, first.path)
	}
}

// A directory that has been empty for at least a tick is recognised by its times alone. Every change shows in them.
func TestPristine(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dir string) error{
		"file created":      func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) },
		"directory created": func(dir string) error { return os.Mkdir(filepath.Join(dir, "x"), 0o700) },
		"mode changed":      func(dir string) error { return os.Chmod(dir, 0o750) },
		"replaced":          func(dir string) error { return errors.Join(os.Rename(dir, dir+"-old"), os.Mkdir(dir, 0o755)) },
		"removed":           os.Remove,
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
					t.Error("pristine() of an empty directory = false, want true")
				}
			}
			if err := change(d.path); err != nil {
				t.Fatal(err)
			}
			if d.pristine() {
				t.Error("pristine() after the change = true, want false")
			}
		})
	}
}
