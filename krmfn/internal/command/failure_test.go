// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// The levels of a render are shown only where they are asked for.
func TestStackTrace(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, map[string]string{"Kptfile": kptfile + "    - exec: cat\n"})
	const levels = "Error: fn.render: pkg "
	for name, i := range map[string]invocation{
		"flag":        {args: []string{"--stack-trace"}},
		"environment": {environ: []string{"COBRA_STACK_TRACE_ON_ERRORS=1"}},
		"neither":     {environ: []string{"COBRA_STACK_TRACE_ON_ERRORS=no"}},
	} {
		i.args = append([]string{"render", dir}, i.args...)
		got := i.run(t.Context(), t)
		if got.code != failure.Failed || strings.Contains(got.err, levels) != (name != "neither") {
			t.Errorf("%s: exit code %d, and\n%s", name, got.code, got.err)
		}
	}
}

func TestHintBelow(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	above := filepath.Dir(dir)
	got := krmfn(t, "render", above)
	contains(t, got.err, "Error: No Kptfile found at \""+above+"\". \nThere is a package below it: krmfn render "+dir+"\n")
}

func TestSymbolicLink(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	const warning = "[WARN] resolved symlink "
	contains(t, krmfn(t, "render", link).ok(t).err, warning+`"`+link+`" to "`+dir+"\", please note that the symlinks within the package are ignored\n")
	if got := krmfn(t, "render", dir).ok(t); strings.Contains(got.err, warning) {
		t.Errorf("there is a warning for a directory:\n%s", got.err)
	}
}

// A program that cannot be started has not failed by itself: nobody else says why.
func TestExecCannotStart(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\npipeline:\n  mutators:\n    - exec: /no/such\n"})
	got := krmfn(t, "render", dir, "--allow-exec")
	contains(t, got.err, "unexpected function error: fork/exec /no/such: no such file or directory")
}

// Flags that have no effect are accepted; those that change what a function does are warned of.
func TestContainerFlags(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	krmfn(t, "render", dir, "--allow-network", "--image-pull-policy=never").ok(t)
	got := krmfn(t, "eval", dir, "-i=set-labels", "--network", "--as-current-user", "-e=A=b", "--mount=type=bind", "--", "a=b").ok(t)
	contains(t, got.err, "[WARN] --env and --mount without effect")
}
