// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/render/packages"
)

func openDir(t *testing.T, dir string) *packages.Dir {
	t.Helper()
	d, err := packages.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func symlink(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
}

func TestDirLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	writeFiles(t, outside, map[string]string{"o.yaml": cm("outside"), "d/x.yaml": cm("x")})
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"Kptfile": kpt, "real/a.txt": cm("linked")})
	symlink(t, "real/a.txt", filepath.Join(dir, "link.yaml"))
	symlink(t, filepath.Join(outside, "d"), filepath.Join(dir, "linked-dir"))
	symlink(t, "real", filepath.Join(dir, "linked-inside"))

	link := filepath.Join(t.TempDir(), "pkg")
	symlink(t, dir, link)
	d := openDir(t, link)
	if want, err := filepath.EvalSymlinks(dir); err != nil || d.Location() != want {
		t.Errorf("Location() = %s, want %s (%v)", d.Location(), want, err)
	}
	_, p := open(t, d)
	if diff := cmp.Diff([]string{"Kptfile#0 Kptfile/app", "link.yaml#0 ConfigMap/linked"}, places(p.Resources)); diff != "" {
		t.Fatalf("resources (-want +got):\n%s", diff)
	}
	if err := d.Apply([]packages.Change{{Path: "link.yaml", Before: []byte(cm("linked")), After: []byte("new")}}); err != nil {
		t.Fatal(err)
	}
	if got := readFiles(t, dir)["real/a.txt"]; got != "new" {
		t.Errorf("content of the link's target = %q, want \"new\"", got)
	}
	if info, err := os.Lstat(filepath.Join(dir, "link.yaml")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("link.yaml = %v, %v, want a symbolic link", info, err)
	}

	symlink(t, filepath.Join(outside, "o.yaml"), filepath.Join(dir, "escapes.yaml"))
	tree, err := packages.Open(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(tree, "."); err == nil || !strings.Contains(err.Error(), "escapes.yaml is a symbolic link that points outside") {
		t.Errorf("reading through a link that points outside: error = %v", err)
	}
	before := readFiles(t, outside)
	for _, p := range []string{"escapes.yaml", "linked-dir/x.yaml", "linked-dir/new.yaml", "../escaped.yaml"} {
		if err := d.Apply([]packages.Change{{Path: p, After: []byte("new")}}); err == nil {
			t.Errorf("Apply() wrote %s, want an error", p)
		}
	}
	if diff := cmp.Diff(before, readFiles(t, outside)); diff != "" {
		t.Errorf("files outside the package changed (-want +got):\n%s", diff)
	}
}

func TestDirApply(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"Kptfile": kpt, "run.yaml": "old", "gone/x.yaml": "old"})
	if err := os.Chmod(filepath.Join(dir, "run.yaml"), 0o750); err != nil {
		t.Fatal(err)
	}
	d := openDir(t, dir)
	err := d.Apply([]packages.Change{
		{Path: "gone/x.yaml", Before: []byte("old")},
		{Path: "gone/already.yaml", Before: []byte("old")},
		{Path: "deep/er/new.yaml", After: []byte("new")},
		{Path: "run.yaml", Before: []byte("old"), After: []byte("new")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Kptfile": kpt, "run.yaml": "new", "deep/er/new.yaml": "new"}
	if diff := cmp.Diff(want, readFiles(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(dir, "run.yaml")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode of run.yaml = %v, %v, want 0750", info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "gone")); err != nil {
		t.Errorf("the emptied directory is missing: %v", err)
	}
}

// If one file cannot be written, all others stay as they were, and no temporary file is left.
func TestDirApplyFails(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{"below a file": "run.yaml/x.yaml", "a directory": "sub/dir", "link that points outside": "sub/out.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"Kptfile": kpt, "run.yaml": "old", "sub/a.yaml": "old", "sub/dir/x.yaml": "old", "sub/z.yaml": "old", "gone.yaml": "old"})
			symlink(t, "/etc/hosts", filepath.Join(dir, "sub/out.yaml"))
			before := readFiles(t, dir)
			err := openDir(t, dir).Apply([]packages.Change{
				{Path: "gone.yaml", Before: []byte("old")},
				{Path: "run.yaml", Before: []byte("old"), After: []byte("new")},
				{Path: "sub/a.yaml", Before: []byte("old"), After: []byte("new")},
				{Path: bad, After: []byte("new")},
				{Path: "sub/z.yaml", Before: []byte("old"), After: []byte("new")},
			})
			if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, filepath.Dir(bad))) {
				t.Errorf("Apply() = %v, want an error that names %s", err, bad)
			}
			if diff := cmp.Diff(before, readFiles(t, dir)); diff != "" {
				t.Errorf("files after the failed Apply (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDirSpecialFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"Kptfile": kpt})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	d := openDir(t, dir)
	if _, p := open(t, d); len(p.Resources) != 1 {
		t.Errorf("resources = %v, want only those of regular files", places(p.Resources))
	}
	symlink(t, "pipe.yaml", filepath.Join(dir, "link.yaml"))
	if _, err := d.ReadFile("link.yaml"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("ReadFile() of a pipe = %v, want an error about the file type", err)
	}
	if err := d.Apply([]packages.Change{{Path: "pipe.yaml", After: []byte("new")}}); err == nil {
		t.Error("Apply() replaced a pipe, want an error")
	}
	if _, err := packages.OpenDir(filepath.Join(dir, "missing")); err == nil || !strings.Contains(err.Error(), "no such file or directory") {
		t.Errorf("OpenDir() of a missing directory = %v", err)
	}
	if _, err := packages.OpenDir(filepath.Join(dir, "Kptfile")); err == nil {
		t.Error("OpenDir() of a file = nil, want an error")
	}
}
