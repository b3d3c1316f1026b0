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

// The curated functions have what these flags ask for; what cannot do it is not asked, or refuses before anything runs.
func TestContainerFlags(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	krmfn(t, "render", dir, "--allow-network", "--image-pull-policy=never").ok(t)
	krmfn(t, "eval", dir, "-i=set-labels", "--network", "--as-current-user", "-e=A=b", "--", "a=b").ok(t)
	mount := "--mount=type=bind,src=.,dst=/data"
	none := []string{"PATH=" + t.TempDir(), "KRMFN_RUNTIME="}
	for _, test := range []struct {
		args    []string
		environ []string
		want    string
	}{
		{[]string{"--mount=dst=/data"}, nil, `--mount "dst=/data" needs src=PATH`},
		{[]string{mount}, none, "--mount needs a container engine: install docker, podman or nerdctl"},
		{[]string{mount, "--runtime=builtin,engine"}, nil, "--mount cannot be used with the runtime builtin"},
		{[]string{"--network", "--runtime=sandbox"}, nil, "--network cannot be used with the runtime sandbox"},
		{[]string{"-e=A=b", "--image-pull-policy=always", "--runner=localhost:1"}, nil, "--env and --image-pull-policy cannot be used with the runtime runner"},
		{[]string{"-e=A=b", "--isolate"}, nil, "--env and --isolate exclude each other"},
		{[]string{"--runtime=docker"}, none, "no container engine is installed (no docker in the PATH)"},
		{nil, []string{"KRMFN_RUNTIME=", "KPT_FN_RUNTIME=rkt"}, `$KPT_FN_RUNTIME is "rkt", want docker, podman or nerdctl`},
		{nil, []string{"KRMFN_RUNTIME=rkt"}, `$KRMFN_RUNTIME is "rkt", want a list of builtin`},
	} {
		got := invocation{args: append([]string{"eval", dir, "-i=set-labels"}, test.args...), environ: test.environ}.run(t.Context(), t)
		if got.code != failure.Failed {
			t.Errorf("%v: exit code %d", test.args, got.code)
		}
		contains(t, got.err, test.want)
	}
}
