// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package drafts_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/packagerevision/drafts"
	"github.com/krmfn/krmfn/services/render/packages"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for p, content := range files {
		file := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, dir string) *drafts.Dir {
	t.Helper()
	d, err := drafts.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// content returns the files of a new draft of the directory.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	d := open(t, dir)
	files, err := d.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	return files
}

func TestDir(t *testing.T) {
	t.Parallel()
	before := map[string]string{"Kptfile": "old", "sub/a.yaml": "a", "empty": "", "logo": "\xff\x00"}
	after := map[string]string{"Kptfile": "new", "deep/er/b.yaml": "b", "empty": "", "logo": "\xff\x00", "blank": ""}
	for _, tc := range []struct {
		name string
		end  func(*drafts.Dir) error
		want map[string]string
	}{
		{"closed", func(d *drafts.Dir) error { return d.Close(t.Context()) }, after},
		{"discarded", func(d *drafts.Dir) error { return d.Discard(t.Context()) }, before},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, before)
			write(t, dir, map[string]string{".git/config": "git's own"})
			d := open(t, dir)
			if err := d.Update(t.Context(), after, packagerevision.TaskPush); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, content(t, dir)); diff != "" {
				t.Errorf("an open draft changed the directory (-want +got):\n%s", diff)
			}
			if err := tc.end(d); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, content(t, dir)); diff != "" {
				t.Errorf("directory (-want +got):\n%s", diff)
			}
			if _, err := os.Stat(filepath.Join(dir, ".git/config")); err != nil {
				t.Error(err)
			}
			if _, err := d.Files(t.Context()); !errors.Is(err, drafts.ErrClosed) {
				t.Errorf("Files() of a closed draft = %v, want ErrClosed", err)
			}
			if err := errors.Join(d.Close(t.Context()), d.Discard(t.Context())); !errors.Is(err, drafts.ErrClosed) {
				t.Errorf("Close() and Discard() of a closed draft = %v, want ErrClosed", err)
			}
		})
	}
}

// If a file cannot be written, Close keeps the draft open and restores the files that it has already changed.
func TestDirCloseFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := map[string]string{"a.yaml": "a", "gone.yaml": "stays"}
	write(t, dir, before)
	d := open(t, dir)
	if err := d.Update(t.Context(), map[string]string{"a.yaml": "changed", "b.yaml": "new", "way": "blocked"}, packagerevision.TaskPush); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "way"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "way") {
		t.Errorf("Close() = %v, want an error with the file's path", err)
	}
	if diff := cmp.Diff(before, content(t, dir)); diff != "" || !d.Open() {
		t.Errorf("draft open = %t, directory (-want +got):\n%s", d.Open(), diff)
	}
	if err := os.Remove(filepath.Join(dir, "way")); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Errorf("Close() after removing the directory = %v, want nil", err)
	}
}

// Close does not overwrite changes by another process. It fails.
func TestDirDetectsConcurrentChanges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, content, want string }{
		"a changed file":    {"a.yaml", "theirs", "a.yaml changed since it was read"},
		"an unchanged file": {"Kptfile", "theirs", "Kptfile changed since it was read"},
		"a new file":        {"b.yaml", "theirs", "b.yaml changed since it was read: it is new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, map[string]string{"Kptfile": "same", "a.yaml": "a"})
			d := open(t, dir)
			if err := d.Update(t.Context(), map[string]string{"Kptfile": "same", "a.yaml": "changed", "b.yaml": "new"}, packagerevision.TaskPush); err != nil {
				t.Fatal(err)
			}
			write(t, dir, map[string]string{tc.file: tc.content})
			want := content(t, dir)
			err := d.Close(t.Context())
			if !errors.As(err, new(*packages.ChangedError)) || err.Error() != "write the package: "+filepath.Join(dir, tc.want) {
				t.Errorf("Close() = %v, want a ChangedError %q", err, tc.want)
			}
			if diff := cmp.Diff(want, content(t, dir)); diff != "" || !d.Open() {
				t.Errorf("draft open = %t, directory (-want +got):\n%s", d.Open(), diff)
			}
			if err := d.Discard(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUpdateChecksPaths(t *testing.T) {
	t.Parallel()
	m := drafts.NewMemory(map[string]string{"a": "1"})
	if err := m.Update(t.Context(), map[string]string{"../a": ""}, packagerevision.TaskPush); err == nil {
		t.Error("Update() with a path outside = nil, want an error")
	}
	files, err := m.Files(t.Context())
	if diff := cmp.Diff(map[string]string{"a": "1"}, files); diff != "" || err != nil {
		t.Errorf("Files() error = %v (-want +got):\n%s", err, diff)
	}
	files["b"] = "the caller's own"
	if len(m.Published()) != 1 {
		t.Error("changing the caller's map changed the draft")
	}
}

func TestOpenDirErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "missing")} {
		if _, err := drafts.OpenDir(path); err == nil || !strings.HasPrefix(err.Error(), "open the package: ") {
			t.Errorf("OpenDir(%s) = %v, want an error", path, err)
		}
	}
}
