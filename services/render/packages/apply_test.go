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

// readAll reads files of a directory, for a change that gives each other content.
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

// What changes between reading and writing is an error before anything is written, though nobody may have changed the content.
func TestApplyRefusesWhatChanged(t *testing.T) {
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
		"edited, with the size and the time that it had": {func(t *testing.T, dir string) {
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
		"replaced by the same": {func(t *testing.T, dir string) {
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
		"a file that is only read":     {func(t *testing.T, dir string) { t.Helper(); write(t, filepath.Join(dir, "Kptfile"), "edited") }, "Kptfile changed since it was read"},
		"a file that is to be deleted": {func(t *testing.T, dir string) { t.Helper(); write(t, filepath.Join(dir, "gone.yaml"), "edited") }, "gone.yaml changed since it was read"},
		"a file where one is made":     {func(t *testing.T, dir string) { t.Helper(); write(t, filepath.Join(dir, "new.yaml"), "theirs") }, "new.yaml changed since it was read: it is new"},
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
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				return
			}
			if !errors.As(err, new(*packages.ChangedError)) || err.Error() != filepath.Join(dir, tc.want) {
				t.Errorf("got error %v", err)
			}
			if diff := cmp.Diff(before, readFiles(t, dir)); diff != "" {
				t.Errorf("files after the error (-want +got):\n%s", diff)
			}
		})
	}
}

// Nobody gives Apply a path in git's own directory, and a link does not lead there either.
func TestApplyLeavesGitAlone(t *testing.T) {
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
			t.Errorf("Apply() of %s = %v, want an error that names git's own directory", p, err)
		}
		if diff := cmp.Diff(before, readFiles(t, dir)); diff != "" {
			t.Errorf("files after Apply() of %s (-want +got):\n%s", p, diff)
		}
	}
}

// What was applied is read again before it is changed again.
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
		t.Error("what was not read is overwritten")
	}
	if diff := cmp.Diff(map[string]string{"a.yaml": "newer"}, readFiles(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestApplyRefusesOneFileTwice(t *testing.T) {
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
		"hard links":                {func(dir string) error { return os.Link(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "link.yaml")) }, []string{"a.yaml", "link.yaml"}, true},
		"one of two hard links":     {func(dir string) error { return os.Link(filepath.Join(dir, "a.yaml"), filepath.Join(dir, "link.yaml")) }, []string{"link.yaml"}, false},
		"a linked directory":        {func(dir string) error { return os.Symlink("sub", filepath.Join(dir, "linked")) }, []string{"linked/b.yaml", "sub/b.yaml"}, true},
		"a link beside other files": {func(dir string) error { return os.Symlink("a.yaml", filepath.Join(dir, "link.yaml")) }, []string{"link.yaml", "sub/b.yaml"}, false},
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
					t.Errorf("%q, %v", content, err)
				}
				return
			}
			if want := fmt.Sprintf("%s and %s are the same file, through links", tc.changes[0], tc.changes[1]); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got error %v", err)
			}
			if diff := cmp.Diff(before, readFiles(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// applyProgram is what the test's program is called where it is to change a directory by itself: as a user without rights, and
// with a limit for the size of files in bytes, unless that is 0.
const applyProgram = "apply"

// applyAlone gives each file of a directory so many bytes more, and returns the exit code.
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
	defer d.Close() //nolint:errcheck // The program ends.
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

// A full disk, and rights that are missing, as the system tells of them.
func TestApplyWithLimits(t *testing.T) {
	t.Parallel()
	small, big := strings.Repeat("s", 100), strings.Repeat("b", 1000)
	for name, tc := range map[string]struct {
		dirMode, fileMode os.FileMode
		more, limit       int
		want              string
	}{
		"all is well":                      {0o777, 0o666, 100, 0, ""},
		"no space":                         {0o777, 0o666, 100, 1050, "big.yaml: file too large"},
		"files beside those are forbidden": {0o555, 0o666, 100, 0, ""},
		"files beside those are forbidden, and no space": {0o555, 0o666, 100, 1050, "big.yaml: file too large"},
		"files that are only read":                       {0o777, 0o444, 100, 0, "permission denied"},
		"nothing can be written":                         {0o555, 0o444, 100, 0, "cannot be written to: permission denied"},
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
				t.Errorf("%v: %s", err, output)
			}
			want := before
			if tc.want == "" {
				want = map[string]string{}
				for p, content := range before {
					want[p] = content + strings.Repeat("+", tc.more)
				}
			}
			if diff := cmp.Diff(want, readFiles(t, dir)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyKeepsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give files to others")
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
		t.Errorf("owner %d, group %d, mode %v", stat.Uid, stat.Gid, info.Mode())
	}
}

// A change that leaves size and time of a file as they were is found, too.
func TestApplyFindsChangesWithOldTimes(t *testing.T) {
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
	time.Sleep(50 * time.Millisecond) // The clock of files moves in steps.
	put("ours")
	err = d.Apply([]packages.Change{{Path: "a.yaml", Before: before, After: []byte("new")}})
	if _, ok := errors.AsType[*packages.ChangedError](err); !ok {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a.yaml")); string(got) != "ours" {
		t.Errorf("the file is %q, %v", got, err)
	}
}
