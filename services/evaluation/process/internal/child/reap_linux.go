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
	// reapEvery is the least time between two sweeps. Every call ends with a SIGCHLD of its own, and a sweep reads /proc.
	reapEvery = time.Second
	// chase is how many times a sweep looks again at once for what it kills. A process that forks and ends all the time, each
	// time in a new session, has mostly gone when its turn comes; of such ones in C a hundred looks have been enough.
	chase = 200
)

// Reap makes this process the parent of whatever its functions leave behind, and until ctx ends collects them: zombies are
// waited for, and a process that left its group to outlive the call it came from is killed. Without it they would pile up
// in a container, where this process has number 1. It returns an error where /proc does not list the children of processes.
//
// What a function leaves behind is known by its session, which is not this process's: each function begins one, and a process
// can leave a session for a new one only, whatever becomes of its group and its environment. It is killed when the runs are over
// that went on when it was first seen, one of which it comes from: at the latest a second after nothing runs any more. Those that
// only wait for work are ended for that.
//
// At most one Reap may run in a process. It leaves alone the children that others have started, with os/exec for example, as
// long as they stay in this process's session. What these leave behind in sessions of their own is taken for a function's.
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
		// Of the end of the run that an orphan comes from a SIGCHLD may have come already.
		if len(sweeper.orphans) == 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-exits:
			}
		}
		// The sweep sees what ends during the pause. Each SIGCHLD that is asked for wakes threads, in the middle of a call.
		signal.Stop(exits)
		pause.Reset(reapEvery)
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
		signal.Notify(exits, syscall.SIGCHLD)
		sweeper.sweepAll()
	}
}

// sweeper ends what runs leave behind. It is for one goroutine.
type sweeper struct {
	ledger *ledger
	// orphans are our children that nobody here has started, each with the last of the runs that it may come from. While one is
	// in here its number is not another's: only the sweeper waits for it.
	orphans map[int]uint64
}

func newSweeper(l *ledger) *sweeper { return &sweeper{ledger: l, orphans: map[int]uint64{}} }

// sweepAll sweeps until nothing is left to be killed.
func (s *sweeper) sweepAll() {
	for range chase {
		if !s.sweep() {
			return
		}
	}
}

// sweep goes over our children once, and tells whether it has killed any.
func (s *sweeper) sweep() (killed bool) {
	pids, last, oldest := s.ledger.others(func() []int { return children("self") })
	before := s.orphans
	s.orphans = map[int]uint64{}
	for _, pid := range pids {
		if !foreign(pid) {
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
			// It ends as a zombie of ours, and the next sweep collects it.
			killTree(pid)
			killed = true
			continue
		}
		s.ledger.endExpendable(from)
	}
	return killed
}

// foreign tells whether a process is in another session than this one.
func foreign(pid int) bool {
	own, err1 := unix.Getsid(0)
	its, err2 := unix.Getsid(pid)
	return err1 == nil && err2 == nil && its != own
}

// killTree kills a process and its descendants. Each is stopped before its children are looked for, so that it makes no more.
func killTree(pid int) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	for _, child := range children(strconv.Itoa(pid)) {
		killTree(child)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// children lists the processes whose parent is the one given, on whichever of its threads.
func children(parent string) []int {
	lists, err := filepath.Glob("/proc/" + parent + "/task/*/children")
	if err != nil {
		return nil
	}
	var pids []int
	for _, list := range lists {
		pids = append(pids, numbers(list)...)
	}
	return pids
}

// numbers reads a list of processes. It is empty where its thread has ended.
func numbers(list string) (pids []int) {
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
