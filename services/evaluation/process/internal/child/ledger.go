// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"math"
	"os/exec"
	"slices"
	"sync"
)

// ledger knows the runs that go on, and the processes that were started for them, their leaders.
type ledger struct {
	// starting is held for reading from before a process exists until it is in leaders, so that a sweep, which takes it for
	// writing, never mistakes a leader for an orphan.
	starting sync.RWMutex

	mu sync.Mutex
	// last is the number of the last run that began, from 1.
	last uint64
	// leaders are by the numbers of their runs.
	leaders map[uint64]*leader
}

// leader is a process that was started for a run.
type leader struct {
	pid int
	// end ends the process without harm; nil while it works.
	end func()
}

// runs are those of all runners, as all children of a process are: one runner's sweeps must know the leaders of another.
var runs = newLedger()

func newLedger() *ledger { return &ledger{leaders: map[uint64]*leader{}} }

// start starts the process of a run and returns the run's number.
func (l *ledger) start(cmd *exec.Cmd) (uint64, error) {
	l.starting.RLock()
	defer l.starting.RUnlock()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.leaders[l.last] = &leader{pid: cmd.Process.Pid}
	return l.last, nil
}

// end strikes out a run whose process has been waited for.
func (l *ledger) end(run uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.leaders, run)
}

// expendable sets what ends a run without harm.
func (l *ledger) expendable(run uint64, end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if leader := l.leaders[run]; leader != nil {
		leader.end = end
	}
}

// endExpendable ends the runs up to last that can be ended without harm.
func (l *ledger) endExpendable(last uint64) {
	var ends []func()
	l.mu.Lock()
	for run, leader := range l.leaders {
		if run <= last && leader.end != nil {
			ends = append(ends, leader.end)
		}
	}
	l.mu.Unlock()
	for _, end := range ends {
		end()
	}
}

// others returns those of the processes that are no leaders. All of them that come from a run come from one up to last. The
// oldest is the first of the runs that go on, and above all others where none does.
func (l *ledger) others(pids func() []int) (others []int, last, oldest uint64) {
	l.starting.Lock()
	defer l.starting.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest = math.MaxUint64
	leads := make(map[int]bool, len(l.leaders))
	for run, leader := range l.leaders {
		oldest = min(oldest, run)
		leads[leader.pid] = true
	}
	return slices.DeleteFunc(pids(), func(pid int) bool { return leads[pid] }), l.last, oldest
}
