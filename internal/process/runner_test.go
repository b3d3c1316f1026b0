// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/internal/process/internal/processtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(asFunction) != "" {
		copyInput()
	}
	goleak.VerifyTestMain(m)
}

// modes are the two ways to get a process: a new one, and a standby process.
var modes = map[string]Standby{"fresh": {}, "standby": {Processes: 1}}

// prepared starts the standby process of a command and waits until it runs.
func prepared(r *Runner, c Command) *Runner {
	r.Prepare(c)
	r.standby.mu.Lock()
	idle := slices.Clone(r.standby.idle)
	r.standby.mu.Unlock()
	for _, sp := range idle {
		<-sp.started
	}
	return r
}

// withAndWithoutStandby runs a test with new processes and with standby processes.
func withAndWithoutStandby(t *testing.T, test func(t *testing.T, standby Standby)) {
	t.Helper()
	for name, standby := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, standby)
		})
	}
}

func shell(script string, args ...string) Command {
	return Command{Argv: append([]string{"/bin/sh", "-c", script, "sh"}, args...), Env: []string{"PATH=/usr/bin:/bin"}}
}

func TestRun(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("a line of input\n", 1<<16)
	tests := map[string]struct {
		command Command
		stdin   string
		limits  Limits
		want    Outcome
		wantErr error
	}{
		"copies": {command: shell("cat"), stdin: "in", want: Outcome{Stdout: []byte("in")}},
		"copies more than a pipe holds": {
			command: shell("cat"), stdin: large, want: Outcome{Stdout: []byte(large)},
		},
		"writes stderr and fails": {
			command: shell("echo out; echo err >&2; exit 3"),
			want:    Outcome{Stdout: []byte("out\n"), Stderr: []byte("err\n"), ExitCode: 3},
		},
		"closes stdin early": {command: shell("exec <&-; echo done"), stdin: large, want: Outcome{Stdout: []byte("done\n")}},
		"kills itself": {
			command: shell("kill -TERM $$"), want: Outcome{ExitCode: -1, Signal: syscall.SIGTERM},
		},
		"stderr over the limit": {
			command: shell("printf 0123456789 >&2"), limits: Limits{Stderr: 4},
			want: Outcome{Stderr: []byte("6789"), StderrDropped: 6},
		},
		"output at the limit": {command: shell("printf 1234"), limits: Limits{Stdout: 4}, want: Outcome{Stdout: []byte("1234")}},
		"output over the limit": {
			command: shell("printf 12345"), limits: Limits{Stdout: 4}, wantErr: &OutputTooLargeError{Size: 5, Limit: 4},
		},
		"output over the call's limit": {
			command: Command{Argv: []string{"/bin/echo", "1234"}, MaxStdout: 4}, wantErr: &OutputTooLargeError{Size: 5, Limit: 4},
		},
		"environment": {
			command: Command{Argv: []string{"sh", "-c", `echo "$A"; test "$HOME" = "$TMPDIR"`}, Env: []string{"A=b", "PATH=/bin:/usr/bin"}},
			want:    Outcome{Stdout: []byte("b\n")},
		},
		"working directory": {
			command: Command{Argv: []string{"/bin/pwd"}, Dir: "/"}, want: Outcome{Stdout: []byte("/\n")},
		},
	}
	withAndWithoutStandby(t, func(t *testing.T, standby Standby) {
		for name, tc := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				scratch := t.TempDir()
				runner := NewRunner(Options{Limits: tc.limits, ScratchRoot: scratch, Standby: standby})
				got, err := prepared(runner, tc.command).Run(t.Context(), tc.command, []byte(tc.stdin))
				runner.Close()
				if diff := cmp.Diff(errorText(tc.wantErr), errorText(err)); diff != "" {
					t.Fatalf("error (-want +got):\n%s", diff)
				}
				if got.Execute <= 0 || got.Start <= 0 {
					t.Errorf("Start = %v, Execute = %v, want both > 0", got.Start, got.Execute)
				}
				got.Start, got.Execute = 0, 0
				if tc.wantErr == nil && !bytes.Equal(tc.want.Stdout, got.Stdout) {
					t.Errorf("stdout has %d bytes, want %d", len(got.Stdout), len(tc.want.Stdout))
				}
				if tc.wantErr == nil {
					got.Stdout, tc.want.Stdout = nil, nil
					if diff := cmp.Diff(tc.want, got, cmp.Transformer("text", func(b []byte) string { return string(b) })); diff != "" {
						t.Errorf("outcome (-want +got):\n%s", diff)
					}
				}
				assertEmpty(t, scratch)
			})
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func assertEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("scratch directory contains %v (error %v), want nothing", left, err)
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		argv []string
		want error
	}{
		"missing":        {argv: []string{"/does/not/exist"}, want: fs.ErrNotExist},
		"not executable": {argv: []string{file}, want: fs.ErrPermission},
		"not in PATH":    {argv: []string{"no-such-program"}, want: nil},
		"empty command":  {argv: nil, want: nil},
	}
	withAndWithoutStandby(t, func(t *testing.T, standby Standby) {
		for name, tc := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				runner, command := NewRunner(Options{ScratchRoot: t.TempDir(), Standby: standby}), Command{Argv: tc.argv, Env: []string{"PATH=/bin"}}
				defer runner.Close()
				_, err := prepared(runner, command).Run(t.Context(), command, nil)
				var start *StartError
				if !errors.As(err, &start) || (tc.want != nil && !errors.Is(err, tc.want)) {
					t.Errorf("Run() = %v, want a StartError that wraps %v", err, tc.want)
				}
			})
		}
	})
}

func TestFloodIsCutOff(t *testing.T) {
	t.Parallel()
	withAndWithoutStandby(t, func(t *testing.T, standby Standby) {
		runner, command := NewRunner(Options{Limits: Limits{Stdout: 1 << 20}, ScratchRoot: t.TempDir(), Standby: standby}), shell("read x; exec cat /dev/zero")
		defer runner.Close()
		_, err := prepared(runner, command).Run(t.Context(), command, []byte("go\n"))
		if !errors.As(err, new(*OutputTooLargeError)) {
			t.Errorf("Run() = %v, want an OutputTooLargeError", err)
		}
	})
}

// A deadline kills the process and its children. The error wraps the context's cause.
func TestDeadlineKillsTheGroup(t *testing.T) {
	t.Parallel()
	withAndWithoutStandby(t, func(t *testing.T, standby Standby) {
		scratch, pids := t.TempDir(), filepath.Join(t.TempDir(), "pids")
		cause := errors.New("the evaluation's maximum")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			processtest.WaitFor(t, func() bool { text, _ := os.ReadFile(pids); return bytes.Count(text, []byte("\n")) == 2 })
			cancel(cause)
		}()
		runner := NewRunner(Options{ScratchRoot: scratch, Standby: standby})
		defer runner.Close()
		command := shell(`read x; sleep 1000 & echo $! >>"$1"; echo $$ >>"$1"; wait`, pids)
		_, err := prepared(runner, command).Run(ctx, command, []byte("go\n"))
		<-done
		var killed *KilledError
		if !errors.As(err, &killed) || !errors.Is(err, cause) {
			t.Errorf("Run() = %v, want a KilledError that wraps %v", err, cause)
		}
		processtest.WaitForEnd(t, pids)
	})
}

// A background process that keeps the pipes open does not delay the call and leaks no goroutine.
func TestGrandchildHoldsPipes(t *testing.T) {
	t.Parallel()
	withAndWithoutStandby(t, func(t *testing.T, standby Standby) {
		pids := filepath.Join(t.TempDir(), "pids")
		runner, command := NewRunner(Options{ScratchRoot: t.TempDir(), Standby: standby}), shell(`read x; sleep 1000 & echo $! >>"$1"; echo output`, pids)
		defer runner.Close()
		got, err := prepared(runner, command).Run(t.Context(), command, []byte("go\n"))
		if err != nil || string(got.Stdout) != "output\n" {
			t.Errorf("stdout = %q, error %v; want the output", got.Stdout, err)
		}
		processtest.WaitForEnd(t, pids)
	})
}

// A process that leaves its group is not killed with the group. It does not delay the call either.
func TestEscapedGrandchildHoldsPipes(t *testing.T) {
	t.Parallel()
	withAndWithoutStandby(t, func(t *testing.T, standby Standby) {
		pids := filepath.Join(t.TempDir(), "pids")
		script := `read x; setsid sh -c 'echo $$ >>"$1"; exec sleep 1000' sh "$1" & while [ ! -s "$1" ]; do :; done; echo output`
		runner, command := NewRunner(Options{ScratchRoot: t.TempDir(), Standby: standby}), shell(script, pids)
		defer runner.Close()
		got, err := prepared(runner, command).Run(t.Context(), command, []byte("go\n"))
		if err != nil || string(got.Stdout) != "output\n" {
			t.Errorf("stdout = %q, error %v; want the output", got.Stdout, err)
		}
		for _, pid := range processtest.ReadPIDs(t, pids) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

// Each run starts with an empty directory, whatever an earlier run did to it, and leaves no files.
func TestScratchDirectory(t *testing.T) {
	t.Parallel()
	withAndWithoutStandby(t, func(t *testing.T, standby Standby) {
		root := t.TempDir()
		runner := NewRunner(Options{ScratchRoot: root, Standby: standby})
		for name, mess := range map[string]string{
			"nothing":                      "true",
			"files":                        `mkdir -p "$TMPDIR/a/b" && touch "$TMPDIR/a/b/c" "$TMPDIR/.hidden"`,
			"permissions":                  `mkdir "$TMPDIR/a" && touch "$TMPDIR/a/b" && chmod 000 "$TMPDIR/a"`,
			"mode of the directory":        `chmod 500 "$TMPDIR"`,
			"directory removed":            `rmdir "$TMPDIR"`,
			"directory replaced by a link": `rmdir "$TMPDIR" && ln -s / "$TMPDIR"`,
		} {
			for range 2 {
				command := shell(`read x; test -w "$TMPDIR" && test -z "$(ls -A "$TMPDIR")" && echo fine && ` + mess)
				got, err := prepared(runner, command).Run(t.Context(), command, []byte("go\n"))
				if err != nil || got.ExitCode != 0 {
					t.Errorf("%s: exit code %d, error %v", name, got.ExitCode, err)
				}
			}
			if left, err := filepath.Glob(filepath.Join(root, "*", "*")); err != nil || len(left) > 0 {
				t.Errorf("%s: %v remains (error %v)", name, left, err)
			}
		}
		runner.Close()
		assertEmpty(t, root)
	})
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	withAndWithoutStandby(t, func(t *testing.T, standby Standby) {
		runner := NewRunner(Options{ScratchRoot: t.TempDir(), Standby: standby})
		defer runner.Close()
		var calls sync.WaitGroup
		for i := range 20 {
			calls.Go(func() {
				in := strconv.Itoa(i)
				got, err := runner.Run(t.Context(), shell("cat"), []byte(in))
				if err != nil || string(got.Stdout) != in {
					t.Errorf("call %d: stdout = %q, error %v", i, got.Stdout, err)
				}
			})
		}
		calls.Wait()
	})
}

// A standby process that has closed its standard input has missed the call if it fails. If it exits with code 0, it has run, and the
// call must not be repeated.
func TestStandbyThatClosesItsInputRunsOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		missed bool
	}{
		"succeeds":             {"echo out", false},
		"succeeds silently":    {"true", false},
		"fails":                {"exit 3", true},
		"fails with a message": {"echo why >&2; exit 3", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewRunner(Options{ScratchRoot: t.TempDir()})
			defer r.Close()
			r.earlyExit = 0
			file := filepath.Join(t.TempDir(), "file")
			command := shell(`exec <&-; while [ ! -e "$1" ]; do sleep 0.01; done; `+tc.script, file)
			p, err := r.starter.Start(command.Child())
			if err != nil {
				t.Fatal(err)
			}
			processtest.WaitFor(t, func() bool { return strings.Contains(p.WhyNotIdle(), "closed standard input") })
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, missed, err := r.answer(t.Context(), p, []byte("in"), r.limits, time.Now(), true); err != nil || missed != tc.missed {
				t.Errorf("answer(): missed = %v, error %v; want missed %v", missed, err, tc.missed)
			}
		})
	}
}

func TestCanceledBeforeStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := NewRunner(Options{ScratchRoot: t.TempDir()}).Run(ctx, shell("true"), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run() = %v, want %v", err, context.Canceled)
	}
}
