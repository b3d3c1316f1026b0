// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
)

// runVariable marks the processes of a run. Descendants inherit it, so that one that leaves its process group can still be
// told to belong to a run, and to have outlived it.
const runVariable = "KRM_FUNCTION_RUN"

// run is the number of a run.
type run uint64

// String returns the run's mark. It has the process in it, because a descendant of ours may run functions too.
func (r run) String() string { return fmt.Sprintf("%d.%d", os.Getpid(), uint64(r)) }

// ledger knows the runs that go on and the processes that were started for them.
type ledger struct {
	// starting is held for reading from before a process exists until it is in leaders, so that the reaper, which takes
	// it for writing, never mistakes a process of ours for an orphan.
	starting sync.RWMutex

	mu      sync.Mutex
	last    run
	live    map[string]struct{}
	leaders map[int]struct{}
}

func newLedger() *ledger {
	return &ledger{live: map[string]struct{}{}, leaders: map[int]struct{}{}}
}

// next returns the number of a new run.
func (l *ledger) next() run {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return l.last
}

// start starts the process of a run.
func (l *ledger) start(r run, cmd *exec.Cmd) error {
	l.starting.RLock()
	defer l.starting.RUnlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live[r.String()] = struct{}{}
	l.leaders[cmd.Process.Pid] = struct{}{}
	return nil
}

// end strikes out a run whose process has been waited for.
func (l *ledger) end(r run, leader int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.live, r.String())
	delete(l.leaders, leader)
}

// orphans returns those of the processes that were not started for a run that goes on.
func (l *ledger) orphans(pids func() []int) []int {
	l.starting.Lock()
	defer l.starting.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	var strangers []int
	for _, pid := range pids() {
		if _, ours := l.leaders[pid]; !ours {
			strangers = append(strangers, pid)
		}
	}
	return strangers
}

// over tells whether a mark is of a run that has ended.
func (l *ledger) over(mark string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, live := l.live[mark]
	return !live
}
