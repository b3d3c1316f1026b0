// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// check runs the case with a tool and compares.
func (c *testCase) check(t *testing.T, p tool) {
	t.Helper()
	problems := c.run(t, p)
	switch fails := p.released && c.KptFails != ""; {
	case fails && len(problems) == 0:
		t.Errorf("%s passes: it is expected to fail, as %s", p.title, c.KptFails)
	case fails:
		t.Logf("%s fails, as %s", p.title, c.KptFails)
	default:
		for _, problem := range problems {
			t.Errorf("%s: %s", p.title, problem)
		}
	}
}

// run runs the case on a fresh copy and returns what differs from what is expected.
func (c *testCase) run(t *testing.T, p tool) []string {
	t.Helper()
	temporary := t.TempDir()
	pkg, results := filepath.Join(temporary, c.name), filepath.Join(temporary, "results")
	if err := os.CopyFS(pkg, os.DirFS(c.dir)); err != nil {
		t.Fatal(err)
	}
	git(t, pkg, "init", "-q", "--template=")
	git(t, pkg, "add", "--all")
	git(t, pkg, "commit", "-q", "--allow-empty", "-m", "state")
	c.script(t, p, pkg, "setup.sh")
	got := c.call(t, p, pkg, slices.Concat(c.args(pkg, results), p.flags, c.values()))
	got.err = normal(got.err, temporary)
	c.script(t, p, pkg, "teardown.sh")
	git(t, pkg, "add", "--all")
	r := comparison{c, p, nil}
	r.compareStreams(got)
	r.compareFile("diff.patch", git(t, pkg, "diff", "--cached"), c.stripDiff)
	if c.has("results.yaml") {
		content, err := os.ReadFile(filepath.Join(results, "results.yaml"))
		if err != nil {
			r.problem("%v", err)
		}
		r.compareFile("results.yaml", strip(string(content), c.ActualStrip), nil)
	}
	return r.problems
}

// call calls the tool: the case's script does, or else kpt is called with arguments.
func (c *testCase) call(t *testing.T, p tool, pkg string, args []string) outcome {
	t.Helper()
	if !c.has("exec.sh") && !p.released {
		// A process with the race detector takes longer to start than to render.
		return invocation{args: args}.run(t.Context(), t)
	}
	cmd := p.command(t, pkg, p.kpt(), args...)
	if c.has("exec.sh") {
		cmd = c.bash(t, p, pkg, "exec.sh")
	} else {
		cmd.Dir = ""
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// args are the command line that kpt's test runner would use.
func (c *testCase) args(pkg, results string) []string {
	args := []string{"fn", "render", pkg}
	if c.TestType == "eval" {
		args = append([]string{"fn", "eval", pkg}, c.evalArgs()...)
	}
	flag := func(given bool, flags ...string) {
		if given {
			args = append(args, flags...)
		}
	}
	_, err := os.Stat(filepath.Join(c.dir, "out"))
	flag(c.has("results.yaml"), "--results-dir", results)
	flag(err == nil, "-o", filepath.Join(pkg, "out"))
	flag(c.ImagePullPolicy != "", "--image-pull-policy", c.ImagePullPolicy)
	flag(c.AllowExec && c.TestType != "eval", "--allow-exec")
	flag(c.AllowWasm, "--allow-alpha-wasm")
	flag(c.NoTruncate, "--truncate-output=false")
	return args
}

// evalArgs are the arguments of krmfn eval only. They name files of the case, not of the copy.
func (c *testCase) evalArgs() []string {
	file := func(name string) string {
		if name == "" {
			return ""
		}
		return c.expected(name)
	}
	var args []string
	for _, f := range []struct{ flag, value string }{
		{"--image", c.Image}, {"--exec", file(c.Exec)}, {"--tag", c.Tag}, {"--fn-config", file(c.FnConfig)},
	} {
		if f.value != "" {
			args = append(args, f.flag, f.value)
		}
	}
	if c.Network {
		args = append(args, "--network")
	}
	if c.IncludeMeta {
		args = append(args, "--include-meta-resources")
	}
	return args
}

// values are the arguments of an evaluation's functionConfig.
func (c *testCase) values() []string {
	if len(c.Args) == 0 {
		return nil
	}
	values := []string{"--"}
	for key, value := range c.Args {
		values = append(values, fmt.Sprintf("%s=%s", key, value))
	}
	return values
}

// script runs one of the case's scripts, if it has it.
func (c *testCase) script(t *testing.T, p tool, pkg, name string) {
	t.Helper()
	if !c.has(name) {
		return
	}
	if out, err := c.bash(t, p, pkg, name).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (c *testCase) bash(t *testing.T, p tool, pkg, name string) *exec.Cmd {
	t.Helper()
	return p.command(t, pkg, "bash", filepath.Join(expectedDir, name))
}

// git calls git without any configuration of the machine's.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "core.fsync=none", "-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}
