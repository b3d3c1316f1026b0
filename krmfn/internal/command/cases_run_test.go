// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/command"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// runProgram is krmfn, as which the test's program is started by the cases.
func runProgram() int {
	executable, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return command.Run(context.Background(), program.Program{
		Executable: executable, Args: os.Args[1:], Environ: os.Environ(), In: os.Stdin,
		Out: terminal.Stream{Writer: os.Stdout}, Err: terminal.Stream{Writer: os.Stderr},
	})
}

// args are those of the call.
func (c *testCase) args(pkg, results string) []string {
	args := []string{"render", pkg}
	if c.TestType == "eval" {
		args[0] = "eval"
		args = append(args, c.evalArgs()...)
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
	flag(c.NoTruncate, "--truncate-output=false")
	flag(c.isolated, "--isolate")
	if len(c.Args) > 0 {
		args = append(args, "--")
		for key, value := range c.Args {
			args = append(args, key+"="+value)
		}
	}
	return args
}

// evalArgs are those of an evaluation alone. Files that they name are in the case, not in the copy.
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

// script runs one of the case's scripts, if it has it.
func (c *testCase) script(t *testing.T, pkg, name string) {
	t.Helper()
	if !c.has(name) {
		return
	}
	if out, err := c.bash(t, pkg, name).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (c *testCase) bash(t *testing.T, pkg, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(expectedDir, name))
	cmd.Dir = pkg
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(c.program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return cmd
}

// git calls git without any configuration of the machine's.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
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

// commit commits everything and returns the commit.
func commit(t *testing.T, dir string) string {
	t.Helper()
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "state")
	return strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
}
