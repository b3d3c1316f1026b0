// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// The cases compare with kpt; here is what kpt does otherwise.
func TestSink(t *testing.T) {
	t.Parallel()
	at := func(file string) string {
		return configMap + "  annotations:\n    config.kubernetes.io/path: " + file + "\n"
	}
	for name, tc := range map[string]struct {
		stdin string
		want  map[string]string
	}{
		"two ways to one file":   {at("x.yaml") + "---\n" + at("./x.yaml"), map[string]string{"x.yaml": configMap + "---\n" + configMap}},
		"dots in a name":         {at("a..b.yaml"), map[string]string{"a..b.yaml": configMap}},
		"another package's path": {at("x.yaml") + "    internal.config.kubernetes.io/package-path: /other\n", map[string]string{"x.yaml": configMap}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			got := invocation{args: []string{"sink", dir}, stdin: tc.stdin}.run(t.Context(), t).ok(t)
			if diff := cmp.Diff(tc.want, snapshot(t, dir)); diff != "" || got.out != "" {
				t.Errorf("got %q and (-want +got):\n%s", got.out, diff)
			}
		})
	}
}

// Nothing is written of what cannot be written as a whole.
func TestSinkRefuses(t *testing.T) {
	t.Parallel()
	at := func(name, file string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  annotations:\n    config.kubernetes.io/path: " + file + "\n"
	}
	for want, stdin := range map[string]string{
		"git's own directory: .GIT/config":                 at("a", ".GIT/config"),
		"git's own directory: sub/git~1/hooks/a.yaml":      at("a", "sub/git~1/hooks/a.yaml"),
		"there is text after a document end marker (...)":  configMap + "...\ndata: {}\n",
		"has an anchor that contains itself":               configMap + "data: &x {a: *x}\n",
		"a is a file":                                      at("a", "a") + "---\n" + at("b", "a/b.yaml"),
		"git's own directory":                              at("a", ".git/a.yaml"),
		`index "first" of ConfigMap "a"`:                   listInput + "    annotations:\n      config.kubernetes.io/index: first\n",
		"resource 0: missing Resource metadata":            "kind: List\nitems:\n- metadata:\n",
		"annotate the resource: metadata is not a mapping": "kind: List\nitems:\n- metadata: [a]\n",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			got := invocation{args: []string{"sink", dir}, stdin: stdin}.run(t.Context(), t)
			if _, err := os.Lstat(dir); got.code != failure.Failed || !os.IsNotExist(err) {
				t.Errorf("exit code %d, and the directory gives %v", got.code, err)
			}
			contains(t, got.err, want)
		})
	}
}

func TestSinkInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := filepath.Join(t.TempDir(), "out")
	got := invocation{args: []string{"sink", dir}, stdin: configMap}.run(ctx, t)
	if _, err := os.Lstat(dir); got.code != failure.Interrupted || !os.IsNotExist(err) {
		t.Errorf("exit code %d, and the directory gives %v", got.code, err)
	}
	if got := (invocation{args: []string{"source", newPackage(t, nil)}}).run(ctx, t); got.code != failure.Interrupted || got.out != "" {
		t.Errorf("exit code %d, and %q", got.code, got.out)
	}
}

// A link is warned of; what is no file of resources has none.
func TestSourceFile(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, "web.yaml"), link); err != nil {
		t.Fatal(err)
	}
	got := krmfn(t, "source", link).ok(t)
	contains(t, got.out, "      internal.config.kubernetes.io/path: 'web.yaml'\n")
	contains(t, got.err, `[WARN] resolved symlink "`+link+`" to "`)
	got = krmfn(t, "source", filepath.Join(dir, "README.md")).ok(t)
	contains(t, got.out, "items: []\n")
	contains(t, got.err, "README.md is not read: files with resources are *.yaml, *.yml, *.json and Kptfile")
}

// A text that begins with a tab can be read again, however a list was printed.
func TestListsWithTabs(t *testing.T) {
	t.Parallel()
	const text = configMap + "data:\n  a: |2\n    \tone\n    \ttwo\n"
	dir := newPackage(t, map[string]string{"a.yaml": text})
	for name, args := range map[string][]string{
		"source":         {"source", dir},
		"eval over it":   {"eval", dir, "-i", "set-labels", "-o", "stdout", "--", "app=web"},
		"eval over text": {"eval", "-", "-i", "set-labels", "--", "app=web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			printed := invocation{args: args, stdin: text}.run(t.Context(), t).ok(t).out
			got := invocation{args: []string{"eval", "-", "-i", "set-labels", "-o", "unwrap", "--", "app=web"}, stdin: printed}.run(t.Context(), t).ok(t)
			contains(t, got.out, `a: "\tone\n\ttwo\n"`)
		})
	}
}
