// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write := func(file, text string) {
		t.Helper()
		file = filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	modules := []string{"a", "b", "c", "d"}
	for _, module := range modules {
		write(module+"/go.mod", "module "+own+"/"+module+"\n")
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	git("checkout", "-q", "-b", "change")
	targets := func(want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		err := run(t.Context(), append(append([]string{"-root", dir}, args...), modules...), &out)
		if got := strings.TrimSpace(out.String()); err != nil || got != want {
			t.Errorf("run(%v) printed %s, %v, want %s", args, got, err, want)
		}
	}
	targets("")
	write("a/committed.go", "package a")
	git("add", ".")
	git("commit", "-q", "-m", "second")
	write("c/new file.go", "package c")
	write("d/go.mod", "module "+own+"/d // changed\n")
	targets("test/a test/c test/d lint/a lint/c lint/d lint-workspace")
	targets("test/c test/d lint/c lint/d lint-workspace", "-since", "HEAD")

	err := run(t.Context(), []string{"-root", dir, "-since", "nowhere"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "set SINCE") {
		t.Errorf("run() with an unknown commit: error = %v, want one that says what to do", err)
	}
}
