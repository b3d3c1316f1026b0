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

	"github.com/krmfn/krmfn/services/evaluation/process/internal/processtest"
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

// held is a run that leaves a process behind at once and ends when it is released.
type held struct {
	pid     int
	release string
	done    chan struct{}
}

func hold(t *testing.T, s *Starter) *held {
	t.Helper()
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	h := &held{release: filepath.Join(dir, "release"), done: make(chan struct{})}
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
	// It is an orphan of this process once the parents that it has left are gone.
	processtest.WaitFor(t, func() bool { return slices.Contains(children("self"), h.pid) })
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
		starter := NewStarter(t.TempDir())
		s := newSweeper(starter.ledger)
		want := func(what string, h *held, alive bool) {
			t.Helper()
			for range 3 {
				s.sweep()
			}
			if !alive {
				processtest.WaitFor(t, func() bool { return processtest.Dead(h.pid) })
			} else if processtest.Dead(h.pid) {
				t.Errorf("%s: process %d is dead", what, h.pid)
			}
		}
		first := hold(t, starter)
		second := hold(t, starter)
		want("the first runs", first, true)
		want("the second runs", second, true)
		for range 3 {
			if _, err := run(starter, "true"); err != nil {
				t.Error(err)
			}
			want("another has ended", first, true)
		}
		third := hold(t, starter)
		second.end(t)
		want("the third runs", third, true)
		first.end(t)
		want("of the first", first, false)
		want("of the second", second, false)
		want("the third runs still", third, true)
		third.end(t)
		want("of the third", third, false)
		processtest.WaitFor(t, func() bool { s.sweep(); return len(children("self")) == 0 })
		if len(s.orphans) > 0 {
			t.Errorf("%v are still counted", s.orphans)
		}
	})
}

// What others in this process start with os/exec is theirs: it is not killed, and they get its exit status.
func TestSweepsLeaveChildrenOfOthers(t *testing.T) {
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
						t.Errorf("a child of others ends with %v", err)
					}
					if code, err := run(other, "exit 4"); err != nil || code != 4 {
						t.Errorf("another starter's process ends with %d and %v", code, err)
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

// What only waits for work is asked to end when it holds orphans back, and what works is not.
func TestSweepsEndWhatWaits(t *testing.T) {
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
			t.Error("what waits is ended without an orphan that it holds back")
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
			t.Error("what works is ended, or the orphan that may be its own")
		}
		works.End()
		processtest.WaitFor(t, func() bool { s.sweep(); return processtest.Dead(orphan) })
		processtest.WaitFor(t, func() bool { s.sweep(); return len(children("self")) == 0 })
	})
}

// Where the kernel tells the poller of no process, a thread waits for it.
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
		t.Skip("this kernel has none")
	}
	_ = p.exit.pidfd.Close()
	p.exit = exit{pid: p.PID()}
	Feed(p.Stdin, []byte("go\n"), false)
	if state, _ := p.Wait(); state.ExitCode() != 7 {
		t.Errorf("it ends with %v, want exit code 7", state)
	}
}
