// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/krmfn/krmfn/internal/process/internal/processtest"
)

// alone runs a test in a separate process, because sweeps affect all children of a process.
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

// escapes contains scripts that leave processes behind. One of these writes its process ID to the file $1. The keys say what the
// process leaves.
var escapes = map[string]string{
	"its group":                 `setsid sh -c 'echo $$ >>"$1"; exec sleep 1000' sh "$1" >/dev/null 2>&1 &`,
	"its environment":           `setsid env -i /bin/sh -c 'echo $$ >>"$1"; exec sleep 1000' sh "$1" >/dev/null 2>&1 </dev/null &`,
	"its number":                `again='setsid sh -c "$0" "$0" "$1" & echo $$ >>"$1"'; setsid sh -c "$again" "$again" "$1" >/dev/null 2>&1 </dev/null &`,
	"its parents":               `setsid env -i /bin/sh -c 'setsid sh -c "echo \$\$ >>\"\$1\"; exec sleep 1000" sh "$1" & exit' sh "$1" >/dev/null 2>&1 </dev/null &`,
	"several processes":         `setsid env -i /bin/sh -c 'setsid sleep 1000 & sleep 1000 & echo $$ >>"$1"; wait' sh "$1" >/dev/null 2>&1 </dev/null &`,
	"a process that exits":      `setsid env -i /bin/sh -c 'echo $$ >>"$1"' sh "$1" &`,
	"a process that is stopped": `setsid env -i /bin/sh -c 'echo $$ >>"$1"; kill -STOP $$' sh "$1" >/dev/null 2>&1 </dev/null &`,
}

// written makes a script wait until its process ID file has a line.
const written = "\nwhile [ ! -s \"$1\" ]; do :; done\n"

// Reap kills all descendants of a function after its run, however they left the process group.
func TestReapCollectsOrphans(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		starter := NewStarter(t.TempDir())
		done := make(chan error, 1)
		go func() { done <- starter.Reap(ctx) }()
		var left []int
		for name, script := range escapes {
			pids := filepath.Join(t.TempDir(), "pids")
			if _, err := run(starter, script+written, pids); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			left = append(left, processtest.ReadPIDs(t, pids)...)
		}
		for _, pid := range left {
			processtest.WaitFor(t, func() bool { return processtest.Dead(pid) })
		}
		processtest.WaitFor(t, func() bool { return len(children("self")) == 0 })
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// blockedRun is a run that leaves an orphan behind at once, and ends when it is released.
type blockedRun struct {
	pid     int
	release string
	done    chan struct{}
}

func startBlockedRun(t *testing.T, s *Starter) *blockedRun {
	t.Helper()
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	h := &blockedRun{release: filepath.Join(dir, "release"), done: make(chan struct{})}
	if err := unix.Mkfifo(h.release, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(h.done)
		if _, err := run(s, escapes["its parents"]+written+`cat "$2"`, pids, h.release); err != nil {
			t.Error(err)
		}
	}()
	processtest.WaitFor(t, func() bool { text, _ := os.ReadFile(pids); return bytes.HasSuffix(text, []byte("\n")) })
	h.pid = processtest.ReadPIDs(t, pids)[0]
	// The process is a child of this process once the parents that it escaped from have exited.
	processtest.WaitFor(t, func() bool { return slices.Contains(children("self"), h.pid) })
	return h
}

func (h *blockedRun) end(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(h.release, nil, 0o600); err != nil {
		t.Error(err)
	}
	<-h.done
}

// A sweep kills no orphan while a run that may be its origin is current. It kills the orphan as soon as all those runs have ended, even
// if newer runs are current.
func TestSweepKeepsOrphansOfCurrentRuns(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T) {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		starter := NewStarter(t.TempDir())
		s := newSweeper(starter.ledger)
		want := func(what string, h *blockedRun, alive bool) {
			t.Helper()
			for range 3 {
				s.sweep()
			}
			if !alive {
				processtest.WaitFor(t, func() bool { return processtest.Dead(h.pid) })
			} else if processtest.Dead(h.pid) {
				t.Errorf("%s: process %d is dead, want it alive", what, h.pid)
			}
		}
		first := startBlockedRun(t, starter)
		second := startBlockedRun(t, starter)
		want("first run is current", first, true)
		want("second run is current", second, true)
		for range 3 {
			if _, err := run(starter, "true"); err != nil {
				t.Error(err)
			}
			want("another run has ended", first, true)
		}
		third := startBlockedRun(t, starter)
		second.end(t)
		want("third run is current", third, true)
		first.end(t)
		want("first run has ended", first, false)
		want("second run has ended", second, false)
		want("third run is still current", third, true)
		third.end(t)
		want("third run has ended", third, false)
		processtest.WaitFor(t, func() bool { s.sweep(); return len(children("self")) == 0 })
		if len(s.orphans) > 0 {
			t.Errorf("orphans = %v, want none", s.orphans)
		}
	})
}

// Sweeps neither kill nor reap processes that other code in this process starts with os/exec.
func TestSweepIgnoresChildrenOfOtherCode(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T) {
		starter, other := NewStarter(t.TempDir()), NewStarter(t.TempDir())
		ctx, cancel := context.WithCancel(t.Context())
		var sweeping, starting sync.WaitGroup
		sweeping.Go(func() {
			for s := newSweeper(starter.ledger); ctx.Err() == nil; {
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
						t.Errorf("os/exec: Run() = %v, want exit code 3", err)
					}
					if code, err := run(other, "exit 4"); err != nil || code != 4 {
						t.Errorf("process of another Starter: exit code %d, error %v; want 4", code, err)
					}
				}
			})
		}
		starting.Wait()
		_ = stdin.Close()
		if err := long.Wait(); err != nil {
			t.Errorf("os/exec: Wait() = %v, want nil", err)
		}
		cancel()
		sweeping.Wait()
	})
}

// A sweep ends idle processes if they delay the collection of orphans. It does not end busy processes.
func TestSweepEndsIdleProcesses(t *testing.T) {
	t.Parallel()
	alone(t, func(t *testing.T) {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		starter := NewStarter(t.TempDir())
		s := newSweeper(starter.ledger)
		waits, err1 := starter.Start(shell("cat"))
		works, err2 := starter.Start(shell("cat"))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		waits.Expendable(waits.Kill)
		works.Expendable(works.Kill)
		s.sweep()
		works.Expendable(nil)
		if waits.Exited() {
			t.Error("the sweep ended an idle process although there are no orphans")
		}
		pids := filepath.Join(t.TempDir(), "pids")
		if _, err := run(starter, escapes["its parents"]+written, pids); err != nil {
			t.Fatal(err)
		}
		orphan := processtest.ReadPIDs(t, pids)[0]
		processtest.WaitFor(t, func() bool { s.sweep(); return waits.Exited() })
		waits.End()
		s.sweep()
		if works.Exited() || processtest.Dead(orphan) {
			t.Error("the sweep ended a busy process, or an orphan that it may have started")
		}
		works.End()
		processtest.WaitFor(t, func() bool { s.sweep(); return processtest.Dead(orphan) })
		processtest.WaitFor(t, func() bool { s.sweep(); return len(children("self")) == 0 })
	})
}

// If the kernel does not support pidfds, Wait blocks a thread.
func TestWaitWithoutPidfd(t *testing.T) {
	t.Parallel()
	s := NewStarter(t.TempDir())
	defer s.Close()
	p, err := s.Start(shell("read x; exit 7"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.exit.pidfd == nil {
		t.Skip("this kernel has no pidfds")
	}
	_ = p.exit.pidfd.Close()
	p.exit = exit{pid: p.PID()}
	Feed(p.Stdin, []byte("go\n"), false)
	if state, _ := p.Wait(); state.ExitCode() != 7 {
		t.Errorf("Wait() = %v, want exit code 7", state)
	}
}
