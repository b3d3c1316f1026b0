// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// alone runs a test in a process that does nothing else: sweeps concern a whole process.
func alone(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	const variable = "KRMFN_TEST_ALONE"
	if os.Getenv(variable) != "" {
		test(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), variable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Each script leaves processes behind, of which one writes its number to the file.
var escapes = map[string]string{
	"its group":           `setsid sh -c 'echo $$ >>"$1"; exec sleep 1000' sh "$1" >/dev/null 2>&1 &`,
	"its environment":     `setsid env -i /bin/sh -c 'echo $$ >>"$1"; exec sleep 1000' sh "$1" >/dev/null 2>&1 </dev/null &`,
	"its number":          `again='setsid sh -c "$0" "$0" "$1" & echo $$ >>"$1"'; setsid sh -c "$again" "$again" "$1" >/dev/null 2>&1 </dev/null &`,
	"its parents":         `setsid env -i /bin/sh -c 'setsid sh -c "echo \$\$ >>\"\$1\"; exec sleep 1000" sh "$1" & exit' sh "$1" >/dev/null 2>&1 </dev/null &`,
	"a family":            `setsid env -i /bin/sh -c 'setsid sleep 1000 & sleep 1000 & echo $$ >>"$1"; wait' sh "$1" >/dev/null 2>&1 </dev/null &`,
	"one that ends":       `setsid env -i /bin/sh -c 'echo $$ >>"$1"' sh "$1" &`,
	"one that is stopped": `setsid env -i /bin/sh -c 'echo $$ >>"$1"; kill -STOP $$' sh "$1" >/dev/null 2>&1 </dev/null &`,
}

// written holds a script until the file has a line.
const written = "\nwhile [ ! -s \"$1\" ]; do :; done\n"

// Whatever a function does to leave its group, nothing of it is left when nothing runs any more.
func TestReapCollectsOrphans(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		runner := NewRunner(Limits{}, t.TempDir())
		done := make(chan error, 1)
		go func() { done <- runner.Reap(ctx) }()
		var left []int
		for name, script := range escapes {
			pids := filepath.Join(t.TempDir(), "pids")
			if _, err := runner.Run(ctx, shell(script+written, pids), nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			left = append(left, readPIDs(t, pids)...)
		}
		for _, pid := range left {
			waitFor(t, func() bool { return dead(pid) })
		}
		waitFor(t, func() bool { return len(children("self")) == 0 })
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// held is a run that leaves a process behind at once and ends when it is released.
type held struct {
	pid     int
	release string
	done    chan struct{}
}

func hold(t *testing.T, r *Runner) *held {
	t.Helper()
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	h := &held{release: filepath.Join(dir, "release"), done: make(chan struct{})}
	if err := unix.Mkfifo(h.release, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(h.done)
		if _, err := r.Run(t.Context(), shell(escapes["its parents"]+written+`cat "$2"`, pids, h.release), nil); err != nil {
			t.Error(err)
		}
	}()
	waitFor(t, func() bool { text, _ := os.ReadFile(pids); return bytes.HasSuffix(text, []byte("\n")) })
	h.pid = readPIDs(t, pids)[0]
	// It is an orphan of this process once the parents that it has left are gone.
	waitFor(t, func() bool { return slices.Contains(children("self"), h.pid) })
	return h
}

func (h *held) end(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(h.release, nil, 0o600); err != nil {
		t.Error(err)
	}
	<-h.done
}

// A sweep kills nothing of a run that goes on, and what comes from one that is over as soon as those are over too that it may
// come from, however many run since.
func TestSweepsSpareWhatRuns(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T) {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		runner := NewRunner(Limits{}, t.TempDir())
		s := newSweeper(runner.ledger)
		want := func(what string, h *held, alive bool) {
			t.Helper()
			for range 3 {
				s.sweep()
			}
			if !alive {
				waitFor(t, func() bool { return dead(h.pid) })
			} else if dead(h.pid) {
				t.Errorf("%s: process %d is dead", what, h.pid)
			}
		}
		first := hold(t, runner)
		second := hold(t, runner)
		want("the first runs", first, true)
		want("the second runs", second, true)
		for range 3 {
			if _, err := runner.Run(t.Context(), shell("true"), nil); err != nil {
				t.Error(err)
			}
			want("another has ended", first, true)
		}
		third := hold(t, runner)
		second.end(t)
		want("the third runs", third, true)
		first.end(t)
		want("of the first", first, false)
		want("of the second", second, false)
		want("the third runs still", third, true)
		third.end(t)
		want("of the third", third, false)
		waitFor(t, func() bool { s.sweep(); return len(children("self")) == 0 })
		if len(s.orphans) > 0 {
			t.Errorf("%v are still counted", s.orphans)
		}
	})
}

// What others in this process start with os/exec is theirs: it is not killed, and they get its exit status.
func TestSweepsLeaveChildrenOfOthers(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T) {
		runner, other := NewRunner(Limits{}, t.TempDir()), NewRunner(Limits{}, t.TempDir())
		ctx, cancel := context.WithCancel(t.Context())
		var sweeping, starting sync.WaitGroup
		sweeping.Go(func() {
			for s := newSweeper(runner.ledger); ctx.Err() == nil; {
				s.sweep()
			}
		})
		long := exec.CommandContext(t.Context(), "cat")
		stdin, err := long.StdinPipe()
		if err != nil || long.Start() != nil {
			t.Fatal(err)
		}
		for range 3 {
			starting.Go(func() {
				for i := range 100 {
					cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "exit 3")
					cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: i%2 == 0}
					if err := cmd.Run(); cmd.ProcessState.ExitCode() != 3 {
						t.Errorf("a child of others ends with %v", err)
					}
					if got, err := other.Run(t.Context(), shell("exit 4"), nil); err != nil || got.ExitCode != 4 {
						t.Errorf("another runner's process ends with %d and %v", got.ExitCode, err)
					}
				}
			})
		}
		starting.Wait()
		_ = stdin.Close()
		if err := long.Wait(); err != nil {
			t.Errorf("a child of others that lasts ends with %v", err)
		}
		cancel()
		sweeping.Wait()
	})
}

// A process learns its share of the memory before it gets its input, and cannot take many times as much.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	// The shell has the bytes in a variable, and what is left of its memory bounds how many.
	const fill = `read x; x=$(head -c "$1" /dev/zero | tr '\0' a); echo "${#x} $GOMEMLIMIT $(ulimit -d)"`
	const share = 8 << 20
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &own); err != nil {
		t.Fatal(err)
	}
	unlimited := "unlimited"
	if own.Cur != unix.RLIM_INFINITY {
		unlimited = strconv.FormatUint(own.Cur>>10, 10)
	}
	for name, tc := range map[string]struct {
		limit int64
		env   string
		bytes string
		want  string
	}{
		"none":           {bytes: "1000", want: "1000  " + unlimited + "\n"},
		"a share":        {limit: share, bytes: "1000", want: "1000 8388608 147456\n"},
		"its own":        {limit: share, env: "GOMEMLIMIT=5MiB", bytes: "1000", want: "1000 5MiB 147456\n"},
		"too much":       {limit: share, bytes: "200000000"},
		"much, no limit": {bytes: "20000000", want: "20000000  " + unlimited + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := shell(fill, tc.bytes)
			command.MemoryLimit = tc.limit
			if tc.env != "" {
				command.Env = append(command.Env, tc.env)
			}
			got, err := NewRunner(Limits{}, t.TempDir()).Run(t.Context(), command, []byte("go\n"))
			if err != nil || string(got.Stdout) != tc.want || (got.ExitCode == 0) != (tc.want != "") {
				t.Errorf("got %q, exit code %d and %q, error %v; want %q", got.Stdout, got.ExitCode, got.Stderr, err, tc.want)
			}
		})
	}
}

// What a command has started before its limit could be set is bound, too, when the input comes.
func TestMemoryLimitOfChildren(t *testing.T) {
	t.Parallel()
	runner := NewRunner(Limits{}, t.TempDir())
	defer runner.Close()
	command := shell("sh -c 'read x; ulimit -d'; true")
	command.MaxData = 1 << 30
	for range 50 {
		got, err := runner.Run(t.Context(), command, []byte("go\n"))
		if err != nil || string(got.Stdout) != "1048576\n" {
			t.Fatalf("a child is bound to %q KiB, error %v", got.Stdout, err)
		}
	}
}

func TestEnvironments(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "LC_ALL=C", "AWS_SECRET_ACCESS_KEY=x", "OTEL_TRACES_EXPORTER=none", "TMPDIR=/t", "FOO=bar"}
	tests := map[string]struct {
		got  []string
		want string
	}{
		"of a runner": {got: RunnerEnvironment(environ), want: "PATH=/bin LC_ALL=C"},
		"of an image": {got: ImageEnvironment(environ), want: "PATH=/bin LC_ALL=C AWS_SECRET_ACCESS_KEY=x FOO=bar"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			for i, kv := range tc.got {
				if i > 0 {
					got.WriteByte(' ')
				}
				got.WriteString(kv)
			}
			if got.String() != tc.want {
				t.Errorf("got %q, want %q", got.String(), tc.want)
			}
		})
	}
}
