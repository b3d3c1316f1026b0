// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/render/packages"
)

// readAll reads files with ReadFile and returns changes that set the content of each one.
func readAll(t *testing.T, d *packages.Dir, content string, paths ...string) []packages.Change {
	t.Helper()
	var changes []packages.Change
	for _, p := range paths {
		before, err := d.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, packages.Change{Path: p, Before: before, After: []byte(content)})
	}
	return changes
}

// A file that changed between ReadFile and Apply is an error before anything is written. A file replaced by one with the same
// content is not.
func TestApplyFailsAfterConcurrentChange(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, file, content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		happens func(t *testing.T, dir string)
		want    string
	}{
		"nothing": {func(*testing.T, string) {}, ""},
		"touched": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Chtimes(filepath.Join(dir, "sub/a.yaml"), time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"edited": {func(t *testing.T, dir string) { t.Helper(); write(t, filepath.Join(dir, "sub/a.yaml"), "edited") }, "sub/a.yaml changed since it was read"},
		"edited, same size and modification time": {func(t *testing.T, dir string) {
			t.Helper()
			file := filepath.Join(dir, "sub/a.yaml")
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			write(t, file, "OLD")
			if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, "sub/a.yaml changed since it was read"},
		"replaced by a file with the same content": {func(t *testing.T, dir string) {
			t.Helper()
			write(t, filepath.Join(dir, "new"), "old")
			if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "sub/a.yaml")); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"deleted": {func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Remove(filepath.Join(dir, "sub/a.yaml")); err != nil {
				t.Fatal(err)
			}
		}, "sub/a.yaml changed since it was read: it has been deleted"},
		"file that is only read": {func(t *testing.T, dir string) { t.Helper(); write(t, filepath.Join(dir, "Kptfile"), "edited") }, "Kptfile changed since it was read"},
		"file to delete":         {func(t *testing.T, dir string) { t.Helper(); write(t, filepath.Join(dir, "gone.yaml"), "edited") }, "gone.yaml changed since it was read"},
		"file to create":         {func(t *testing.T, dir string) { t.Helper(); write(t, filepath.Join(dir, "new.yaml"), "theirs") }, "new.yaml changed since it was read: it is new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"Kptfile": kpt, "sub/a.yaml": "old", "b.yaml": "old", "gone.yaml": "old"})
			d := openDir(t, dir)
			changes := readAll(t, d, "rendered", "sub/a.yaml", "b.yaml", "gone.yaml")
			changes[2].After = nil
			changes = append(changes, packages.Change{Path: "new.yaml", After: []byte("rendered")})
			readAll(t, d, "", "Kptfile")
			tc.happens(t, dir)
			before := readFiles(t, dir)
			err := d.Apply(changes)
			if tc.want == "" {
				want := map[string]string{"Kptfile": kpt, "sub/a.yaml": "rendered", "b.yaml": "rendered", "new.yaml": "rendered"}
				if diff := cmp.Diff(want, readFiles(t, dir)); err != nil || diff != "" {
					t.Errorf("Apply() = %v, files (-want +got):\n%s", err, diff)
				}
				return
			}
			if !errors.As(err, new(*packages.ChangedError)) || err.Error() != filepath.Join(dir, tc.want) {
				t.Errorf("Apply() = %v, want a ChangedError %q", err, tc.want)
			}
			if diff := cmp.Diff(before, readFiles(t, dir)); diff != "" {
				t.Errorf("files after the failed Apply (-want +got):\n%s", diff)
			}
		})
	}
}

// Apply rejects paths in .git directories, whether direct or through a link.
func TestApplyRejectsGitDirectories(t *testing.T) {
	t.Parallel()
	for _, p := range []string{".git/config", "sub/.GIT/hooks/x.yaml", "git~1/config", ".git./config", "link.yaml"} {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{"Kptfile": kpt, ".git/config": "git's own"})
		if err := os.Symlink(".git/config", filepath.Join(dir, "link.yaml")); err != nil {
			t.Fatal(err)
		}
		before := readFiles(t, dir)
		err := openDir(t, dir).Apply([]packages.Change{{Path: "a.yaml", After: []byte("new")}, {Path: p, After: []byte("new")}})
		if err == nil || !strings.Contains(err.Error(), "git's own directory") {
			t.Errorf("Apply(%s) = %v, want an error about git's own directory", p, err)
		}
		if diff := cmp.Diff(before, readFiles(t, dir)); diff != "" {
			t.Errorf("files after Apply(%s) (-want +got):\n%s", p, diff)
		}
	}
}

// After Apply, a file must be read again before it is changed again.
func TestApplyTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.yaml": "old"})
	d := openDir(t, dir)
	for _, content := range []string{"new", "newer"} {
		if err := d.Apply(readAll(t, d, content, "a.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Apply([]packages.Change{{Path: "a.yaml", Before: []byte("new"), After: []byte("x")}}); err == nil {
		t.Error("Apply() = nil for a file that was not read again, want an error")
	}
	if diff := cmp.Diff(map[string]string{"a.yaml": "newer"}, readFiles(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestApplyFailsForTwoChangesOfOneFile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		link    func(dir string) error
		changes []string
		fails   bool
	}{
		"a link and its file": {func(dir string) error { return os.Symlink("a.yaml", filepath.Join(dir, "link.yaml")) }, []string{"a.yaml", "link.yaml"}, true},
		"two links": {func(dir string) error {
			return errors.Join(os.Symlink("sub/b.yaml", filepath.Join(dir, "link.yaml")), os.Symlink("../link.yaml", filepath.Join(dir, "sub/link.yaml")))
		}, []string{"link.yaml", "sub/link.yaml"}, true},
		"hard links":                   {func(dir string) error { return os.Link(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "link.yaml")) }, []string{"a.yaml", "link.yaml"}, true},
		"one of two hard links":        {func(dir string) error { return os.Link(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "link.yaml")) }, []string{"link.yaml"}, false},
		"a linked directory":           {func(dir string) error { return os.Symlink("sub", filepath.Join(dir, "linked")) }, []string{"linked/b.yaml", "sub/b.yaml"}, true},
		"a link and an unrelated file": {func(dir string) error { return os.Symlink("a.yaml", filepath.Join(dir, "link.yaml")) }, []string{"link.yaml", "sub/b.yaml"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"a.yaml": "old", "sub/b.yaml": "old"})
			if err := tc.link(dir); err != nil {
				t.Fatal(err)
			}
			before := readFiles(t, dir)
			d := openDir(t, dir)
			err := d.Apply(readAll(t, d, "new", tc.changes...))
			if !tc.fails {
				content, readErr := os.ReadFile(filepath.Join(dir, tc.changes[0]))
				if err := errors.Join(err, readErr); err != nil || string(content) != "new" {
					t.Errorf("content = %q, error = %v, want \"new\"", content, err)
				}
				return
			}
			if want := fmt.Sprintf("%s and %s are the same file, through links", tc.changes[0], tc.changes[1]); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("Apply() = %v, want %q", err, want)
			}
			if diff := cmp.Diff(before, readFiles(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// applyProgram is the name by which the test binary runs as a child process that changes a directory without root's rights and,
// if the limit is not 0, with a limit in bytes on file sizes.
const applyProgram = "apply"

// applyAlone appends args[1] bytes to each file of the directory args[0], under the file size limit args[2]. It returns the
// exit code.
func applyAlone(args []string) int {
	more, _ := strconv.Atoi(args[1])
	limit, _ := strconv.Atoi(args[2])
	if err := applyLimited(args[0], more, uint64(limit)); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func applyLimited(dir string, more int, limit uint64) error {
	if os.Getuid() == 0 {
		const nobody = 65534
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			return err
		}
	}
	if limit > 0 {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	d, err := packages.OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // The process exits.
	if err := errors.Join(d.Lock(), d.CheckWritable()); err != nil {
		return err
	}
	paths, err := d.Paths()
	if err != nil {
		return err
	}
	var changes []packages.Change
	for _, p := range paths {
		before, err := d.ReadFile(p)
		if err != nil {
			return err
		}
		changes = append(changes, packages.Change{Path: p, Before: before, After: append(bytes.Clone(before), strings.Repeat("+", more)...)})
	}
	return d.Apply(changes)
}

// Apply handles a full disk and missing permissions, as the kernel reports them.
func TestApplyWithLimits(t *testing.T) {
	t.Parallel()
	small, big := strings.Repeat("s", 100), strings.Repeat("b", 1000)
	for name, tc := range map[string]struct {
		dirMode, fileMode os.FileMode
		more, limit       int
		want              string
	}{
		"no limits":                         {0o777, 0o666, 100, 0, ""},
		"no space":                          {0o777, 0o666, 100, 1050, "big.yaml: file too large"},
		"read-only directory":               {0o555, 0o666, 100, 0, ""},
		"read-only directory, and no space": {0o555, 0o666, 100, 1050, "big.yaml: file too large"},
		"read-only files":                   {0o777, 0o444, 100, 0, "permission denied"},
		"read-only directory and files":     {0o555, 0o444, 100, 0, "cannot be written to: permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			before := map[string]string{"big.yaml": big, "small.yaml": small, "z.yaml": small}
			writeFiles(t, dir, before)
			for p := range before {
				if err := os.Chmod(filepath.Join(dir, p), tc.fileMode); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(os.Chmod(dir, tc.dirMode), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
			executable, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), executable)
			cmd.Args = []string{applyProgram, dir, strconv.Itoa(tc.more), strconv.Itoa(tc.limit)}
			output, err := cmd.CombinedOutput()
			if (err == nil) != (tc.want == "") || !strings.Contains(string(output), tc.want) {
				t.Errorf("child process: error %v, want %q; output:\n%s", err, tc.want, output)
			}
			want := before
			if tc.want == "" {
				want = map[string]string{}
				for p, content := range before {
					want[p] = content + strings.Repeat("+", tc.more)
				}
			}
			if diff := cmp.Diff(want, readFiles(t, dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyKeepsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root to change the owner of files")
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.yaml": "old"})
	file := filepath.Join(dir, "a.yaml")
	if err := errors.Join(os.Chown(file, 1234, 2345), os.Chmod(file, 0o640)); err != nil {
		t.Fatal(err)
	}
	d := openDir(t, dir)
	if err := d.Apply(readAll(t, d, "new", "a.yaml")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	stat, _ := info.Sys().(*syscall.Stat_t)
	if stat.Uid != 1234 || stat.Gid != 2345 || info.Mode() != 0o640 {
		t.Errorf("owner %d, group %d, mode %v, want 1234, 2345, 0640", stat.Uid, stat.Gid, info.Mode())
	}
}

// Apply detects a change that leaves a file's size and modification time as they were.
func TestApplyDetectsChangesWithOldTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	put := func(content string) {
		file := filepath.Join(dir, "a.yaml")
		if err := errors.Join(os.WriteFile(file, []byte(content), 0o600), os.Chtimes(file, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	put("mine")
	d, err := packages.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	before, err := d.ReadFile("a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // File times have a coarse resolution.
	put("ours")
	err = d.Apply([]packages.Change{{Path: "a.yaml", Before: before, After: []byte("new")}})
	if _, ok := errors.AsType[*packages.ChangedError](err); !ok {
		t.Errorf("Apply() = %v, want a ChangedError", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a.yaml")); string(got) != "ours" {
		t.Errorf("content = %q, %v, want \"ours\"", got, err)
	}
}
