// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package previous_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/e2e/previous"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

// history returns a Builder for a git repository with two commits. The first commit has the tag v1.
func history(t *testing.T, versions string) previous.Builder {
	t.Helper()
	b := previous.Builder{Root: t.TempDir(), Cache: filepath.Join(t.TempDir(), "cache"), Progress: progress.New(io.Discard)}
	git(t, b.Root, "init", "--quiet")
	commit(t, b, map[string]string{
		"charts/krmfn/Chart.yaml": "version: 1\n",
		"versions.yaml":           "chart: v1\n",
		"Makefile":                "images:\n\tmkdir -p build/images/one && echo $(VERSION) $(ARCHES) $(MAKELEVEL) >build/images/one/made\n",
	})
	git(t, b.Root, "tag", "v1")
	commit(t, b, map[string]string{
		"charts/krmfn/Chart.yaml": "version: 2\n", "Makefile": "images:\n\tfalse\n", "versions.yaml": versions,
	})
	return b
}

func commit(t *testing.T, b previous.Builder, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(b.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, b.Root, "add", "--all")
	git(t, b.Root, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--no-gpg-sign", "--message=m")
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestEnsure(t *testing.T) {
	t.Setenv("MAKELEVEL", "7")
	t.Setenv("VERSION", "v9")
	b := history(t, "previous: v1\n")
	r, err := b.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := git(t, b.Root, "rev-parse", "v1"); r.Commit != want || r.Tag != "previous-"+want[:12] {
		t.Errorf("Ensure() = %+v, want commit %s", r, want)
	}
	if got := read(t, r.Chart, "Chart.yaml"); got != "version: 1" {
		t.Errorf("Chart.yaml = %q, want version 1", got)
	}
	if got, want := read(t, r.Images, "one", "made"), r.Tag+" "+runtime.GOARCH+" 0"; got != want {
		t.Errorf("VERSION, ARCHES and MAKELEVEL in make = %q, want %q", got, want)
	}

	// The second call returns the cached release.
	made := filepath.Join(r.Images, "one", "made")
	if err := os.WriteFile(made, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := b.Ensure(t.Context()); err != nil || again != r || read(t, made) != "kept" {
		t.Errorf("second Ensure() = %+v, %v, want the cached release", again, err)
	}

	// A new previous release replaces the cached one, and a failed build leaves nothing behind.
	commit(t, b, map[string]string{"versions.yaml": "previous: HEAD\n"})
	if _, err := b.Ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "build the images of commit") {
		t.Errorf("Ensure() error = %v, want a build error", err)
	}
	left, err := filepath.Glob(filepath.Join(b.Cache, "*", ""))
	if err != nil || len(left) != 1 {
		t.Errorf("error = %v, cache = %v, want only the lock", err, left)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for versions, want := range map[string]string{
		"chart: v1\n":        "versions.yaml: previous is empty",
		"previous: v0.0.1\n": "is not in the history of",
		"previous: --help\n": "is not in the history of",
		"previous: [a]\n":    "versions.yaml: ",
		"previous: \"" + strings.Repeat("1", 40) + "\"\n": "git fetch --unshallow",
	} {
		if _, err := history(t, versions).Ensure(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Ensure() error = %v, want %q", versions, err, want)
		}
	}
}
