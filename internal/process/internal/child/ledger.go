// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"math"
	"os/exec"
	"slices"
	"sync"
)

// ledger records the current runs and their leaders. A leader is the process that a Starter started for the run.
type ledger struct {
	// starting is read-locked while a process starts, until it is in leaders. A sweep takes the write lock, so it never mistakes a
	// leader for an orphan.
	starting sync.RWMutex

	mu sync.Mutex
	// last is the number of the latest run. The first run has number 1.
	last uint64
	// leaders maps run numbers to leaders.
	leaders map[uint64]*leader
}

// leader is a process that a Starter started.
type leader struct {
	pid int
	// end ends the process while it is idle. It is nil while the process is busy.
	end func()
}

// runs is shared by all Starters, because the children of this process are: a sweep must know the leaders of all Starters.
var runs = newLedger()

func newLedger() *ledger { return &ledger{leaders: map[uint64]*leader{}} }

// start starts the process of a new run and returns the run's number.
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

// end removes a run. Its process must have been reaped.
func (l *ledger) end(run uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.leaders, run)
}

// expendable sets the function that ends the run's process while it is idle, or nil.
func (l *ledger) expendable(run uint64, end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if leader := l.leaders[run]; leader != nil {
		leader.end = end
	}
}

// endExpendable ends the idle processes of runs with numbers up to last.
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

// others returns the processes that are not leaders. If they descend from a run, its number is at most last. oldest is the lowest
// number of the current runs, or math.MaxUint64 if no run is current.
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
