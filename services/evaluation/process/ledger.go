// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
)

// runVariable marks the processes of a run. Descendants inherit it, so that one that leaves its process group can still be
// told to belong to a run, and to have outlived it.
const runVariable = "KRM_FUNCTION_RUN"

// ledger knows the runs that go on and the processes that were started for them.
type ledger struct {
	// starting is held for reading from before a process exists until it is in leaders, so that the reaper, which takes
	// it for writing, never mistakes a process of ours for an orphan.
	starting sync.RWMutex

	mu   sync.Mutex
	last uint64
	// leaders are the processes by the marks of their runs.
	leaders map[string]int
}

// next returns the mark of a new run. It has this process in it, because a descendant of ours may run functions too.
func (l *ledger) next() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return fmt.Sprintf("%d.%d", os.Getpid(), l.last)
}

// start starts the process of a run.
func (l *ledger) start(mark string, cmd *exec.Cmd) error {
	l.starting.RLock()
	defer l.starting.RUnlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaders[mark] = cmd.Process.Pid
	return nil
}

// end strikes out a run whose process has been waited for.
func (l *ledger) end(mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.leaders, mark)
}

// orphans returns those of the processes that were not started for a run that goes on.
func (l *ledger) orphans(pids func() []int) []int {
	l.starting.Lock()
	defer l.starting.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	ours := slices.Collect(maps.Values(l.leaders))
	return slices.DeleteFunc(pids(), func(pid int) bool { return slices.Contains(ours, pid) })
}

// over tells whether a mark is of a run that has ended.
func (l *ledger) over(mark string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, live := l.leaders[mark]
	return !live
}
