// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newTools creates a directory like the one in the wrapper server's image, with a program, a link to it, and a directory.
func newTools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "wrapper-server"), []byte("program"), 0o555))
	must(t, os.Chtimes(filepath.Join(dir, "wrapper-server"), time.Unix(1e9, 0), time.Unix(1e9, 0)))
	must(t, os.Symlink("wrapper-server", filepath.Join(dir, "grpc-health-probe")))
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o750))
	must(t, os.WriteFile(filepath.Join(dir, "sub", "file"), nil, 0o600))
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree returns mode, link target and modification date of each file below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		entry := info.Mode().String()
		if link, err := os.Readlink(path); err == nil {
			entry += " " + link
		}
		if info.Mode().IsRegular() {
			entry += " " + info.ModTime().UTC().Format(time.DateOnly)
		}
		rel, err := filepath.Rel(dir, path)
		got[rel] = entry
		return err
	}))
	return got
}

func TestCopyContentsOfDirectory(t *testing.T) {
	t.Parallel()
	source, target := newTools(t), t.TempDir()
	// An init container may run twice.
	for range 2 {
		must(t, copyFiles([]string{"-a", source + "/.", target}))
	}
	if diff := cmp.Diff(tree(t, source), tree(t, target)); diff != "" {
		t.Errorf("copy (-source +target):\n%s", diff)
	}
}

func TestCopyTargets(t *testing.T) {
	t.Parallel()
	source, target := newTools(t), t.TempDir()
	program := filepath.Join(source, "wrapper-server")
	must(t, copyFiles([]string{program, filepath.Join(target, "other-name")}))
	must(t, copyFiles([]string{"-rv", "--", program, filepath.Join(source, "sub"), target}))
	must(t, copyFiles([]string{"-a", source + "/.", filepath.Join(target, "new", "deep")}))
	got := tree(t, target)
	for _, name := range []string{"other-name", "wrapper-server", "sub/file", "new/deep/sub/file"} {
		if got[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
}

// A program that runs is replaced and not overwritten.
func TestCopyReplacesRunningProgram(t *testing.T) {
	t.Parallel()
	source, target := newTools(t), t.TempDir()
	must(t, copyFiles([]string{"-a", source + "/.", target}))
	old, err := os.Open(filepath.Join(target, "wrapper-server"))
	must(t, err)
	defer old.Close() //nolint:errcheck // only read
	must(t, os.Remove(filepath.Join(source, "wrapper-server")))
	must(t, os.WriteFile(filepath.Join(source, "wrapper-server"), []byte("new"), 0o555))
	must(t, copyFiles([]string{"-a", source + "/.", target}))
	text := make([]byte, 7)
	if _, err := old.Read(text); err != nil || string(text) != "program" {
		t.Errorf("contents of the open file = %q, error %v, want %q", text, err, "program")
	}
}

func TestCopyErrors(t *testing.T) {
	t.Parallel()
	source, target := newTools(t), t.TempDir()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "usage"},
		{[]string{"-a", source}, "usage"},
		{[]string{"-x", source, target}, `unknown option "-x"`},
		{[]string{"/does/not/exist", target}, "copy /does/not/exist to " + target},
		{[]string{source, source, filepath.Join(target, "missing")}, "is not a directory"},
		{[]string{"/dev/null", target}, "neither a file"},
	} {
		if err := copyFiles(tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("copyFiles(%v) = %v, want %q", tc.args, err, tc.want)
		}
	}
}
