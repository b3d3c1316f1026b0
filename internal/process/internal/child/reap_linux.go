// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// sweepInterval is the minimum interval between sweeps. Each call causes a SIGCHLD, and a sweep reads /proc.
	sweepInterval = time.Second
	// maxPasses is the maximum number of passes of a sweep. A process that continuously forks and exits in new sessions is often gone when
	// the sweep tries to kill it. In tests with such programs in C, 100 passes were enough.
	maxPasses = 200
)

// Reap makes this process the parent of orphaned descendants of functions, and collects them until ctx ends: it waits for zombies and
// kills processes that left their group to outlive their call. Without it, they would accumulate in a container in which this process
// has PID 1. It returns an error if /proc does not list the children of processes.
//
// An orphan is recognised by its session. Each function starts in a new session, and a process can leave its session only for a new
// one, so an orphan's session is never this process's. An orphan is killed after all runs have ended that were current when it was
// first seen, because any of them may be its origin. Idle standby processes and workers are ended to get there: an orphan lives at most
// one second after the last call has ended.
//
// At most one Reap may run in a process. It ignores children that other code has started, for example with os/exec, as long as they
// stay in this process's session. Their descendants in other sessions are treated as functions' orphans.
func (s *Starter) Reap(ctx context.Context) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphaned processes: %w", err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())); err != nil {
		return fmt.Errorf("list the children of this process: %w", err)
	}
	exits := make(chan os.Signal, 1)
	signal.Notify(exits, syscall.SIGCHLD)
	defer signal.Stop(exits)
	pause := time.NewTimer(0)
	defer pause.Stop()
	sweeper := newSweeper(s.ledger)
	defer sweeper.sweepAll()
	for {
		// If there are orphans, do not wait for a SIGCHLD: the one for the end of their run may have arrived already.
		if len(sweeper.orphans) == 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-exits:
			}
		}
		// The next sweep sees what exits during the pause. Ignore SIGCHLD until then, because each signal wakes threads while a call
		// runs.
		signal.Stop(exits)
		pause.Reset(sweepInterval)
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
		signal.Notify(exits, syscall.SIGCHLD)
		sweeper.sweepAll()
	}
}

// sweeper kills orphans of runs. It is not safe for concurrent use.
type sweeper struct {
	ledger *ledger
	// orphans maps children that no Starter started to the number of the last run that may be their origin. Their process IDs are not
	// reused while they are in the map, because only the sweeper reaps them.
	orphans map[int]uint64
}

func newSweeper(l *ledger) *sweeper { return &sweeper{ledger: l, orphans: map[int]uint64{}} }

// sweepAll sweeps until there is no process to kill, or maxPasses passes have been made.
func (s *sweeper) sweepAll() {
	for range maxPasses {
		if !s.sweep() {
			return
		}
	}
}

// sweep examines all children once. It reports whether it has killed any.
func (s *sweeper) sweep() (killed bool) {
	pids, last, oldest := s.ledger.others(func() []int { return children("self") })
	before := s.orphans
	s.orphans = map[int]uint64{}
	for _, pid := range pids {
		if !inOtherSession(pid) {
			continue
		}
		if ended, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); ended == pid || errors.Is(err, unix.ECHILD) {
			continue
		}
		from, seen := before[pid]
		if !seen {
			from = last
		}
		s.orphans[pid] = from
		if from < oldest {
			// The process becomes a zombie child of this process. The next sweep reaps it.
			killTree(pid)
			killed = true
			continue
		}
		s.ledger.endExpendable(from)
	}
	return killed
}

// inOtherSession reports whether a process is in another session than this process.
func inOtherSession(pid int) bool {
	own, err1 := unix.Getsid(0)
	its, err2 := unix.Getsid(pid)
	return err1 == nil && err2 == nil && its != own
}

// killTree kills a process and its descendants. It stops each process before listing its children, so that the process cannot fork
// meanwhile.
func killTree(pid int) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	for _, child := range children(strconv.Itoa(pid)) {
		killTree(child)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// children returns the process IDs of the children of all threads of a process.
func children(parent string) []int {
	lists, err := filepath.Glob("/proc/" + parent + "/task/*/children")
	if err != nil {
		return nil
	}
	var pids []int
	for _, list := range lists {
		pids = append(pids, readPIDs(list)...)
	}
	return pids
}

// readPIDs parses a list of process IDs. It returns nil if the thread has exited.
func readPIDs(list string) (pids []int) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil
	}
	for field := range bytes.FieldsSeq(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
