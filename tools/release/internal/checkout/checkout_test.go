// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package checkout_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/tools/release/internal/checkout"
)

func TestRead(t *testing.T) {
	t.Parallel()

	dir := repository(t)
	committed := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	clean, err := checkout.Read(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(clean.Revision) || !clean.Time.Equal(committed) {
		t.Errorf("Read() of a clean checkout = %+v, want a commit of %s", clean, committed)
	}
	write(t, filepath.Join(dir, "new"), "")
	changed, err := checkout.Read(t.Context(), dir, "7")
	if err != nil {
		t.Fatal(err)
	}
	want := checkout.Source{Revision: clean.Revision + checkout.Dirty, Time: time.Unix(7, 0).UTC()}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("Read() of a changed checkout with an epoch (-want +got):\n%s", diff)
	}
	if _, err := checkout.Read(t.Context(), dir, "yesterday"); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("Read() with an invalid epoch: error = %v, want one that names SOURCE_DATE_EPOCH", err)
	}
	if _, err := checkout.Read(t.Context(), t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "git log") {
		t.Errorf("Read() outside a checkout: error = %v, want one of git log", err)
	}
}

func TestCopySkipsIgnoredAndDeletedFiles(t *testing.T) {
	t.Parallel()

	from, to := repository(t), t.TempDir()
	write(t, filepath.Join(from, "new"), "new")
	write(t, filepath.Join(from, "build/ignored"), "ignored")
	if err := os.Remove(filepath.Join(from, "deleted")); err != nil {
		t.Fatal(err)
	}
	if err := checkout.Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, name := range []string{".gitignore", "dir/file", "new", "deleted", "build/ignored"} {
		if data, err := os.ReadFile(filepath.Join(to, name)); err == nil {
			got[name] = string(data)
		}
	}
	want := map[string]string{".gitignore": "/build/\n", "dir/file": "file", "new": "new"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
}

// repository creates a git repository with one commit and returns its directory.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".gitignore"), "/build/\n")
	write(t, filepath.Join(dir, "dir/file"), "file")
	write(t, filepath.Join(dir, "deleted"), "deleted")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
			"GIT_COMMITTER_DATE=2026-02-03T04:05:06Z")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, output)
		}
	}
	return dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
