// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package worker runs functions as workers: processes that answer many calls, one after the other, in the protocol of package
// workerprotocol. For commands that do not support the protocol, each call gets a process of its own.
package worker

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/internal/child"
)

// Options configure a Pool.
type Options struct {
	// PerCommand is the maximum number of workers per command, which is also the maximum number of concurrent calls that workers
	// answer. A good value is the number of CPUs.
	PerCommand int
	// Total is the maximum number of workers of all commands. When it is reached, a new worker evicts the one that has been idle
	// longest.
	Total int
	// Log gets one warning for each command that does not support the worker protocol.
	Log *slog.Logger
}

const (
	// maxCalls is the number of calls after which a worker is replaced.
	maxCalls = 1000
	// maxIdleMemory is the maximum resident memory, in bytes, of a worker between two calls.
	maxIdleMemory = 64 << 20
	// idleTime is the maximum time that a worker waits for a call.
	idleTime = 30 * time.Second
	// maxWait is the maximum time that a call waits for a worker, before it gets a process. All workers may be busy with calls that
	// hang until their deadlines.
	maxWait = 100 * time.Millisecond
	// minIdleTime is the minimum idle time before a worker is evicted in favour of another command's. Without it, commands that are
	// called in turn would evict each other's workers.
	minIdleTime = time.Second
	// maxCommands is the number of commands at which the pool forgets those without workers.
	maxCommands = 1000
	// maxFailures is the number of consecutive workers that may end without an answer before the command gets no more workers.
	maxFailures = 3
)

// Pool keeps workers for commands with the field Worker set. Other calls, and calls that find no worker in time, get a process. Pool is
// safe for concurrent use.
//
// A worker answers one call at a time. It is ended if its call is canceled or fails other than by exit code.
type Pool struct {
	fallback       process.Processes
	prepareProcess func(process.Command)
	limit          int64
	start          func(process.Command) (handle, error)
	options        Options

	// owners are goroutines. Each has started a worker, and runs until that worker has been cleaned up.
	owners sync.WaitGroup

	mu     sync.Mutex
	groups map[string]*group
	size   int
	stats  Stats
	closed bool
}

// Stats are counters since the pool was created, and the current number of workers.
type Stats struct {
	// Workers is the current number of workers.
	Workers int64
	// Started is the number of workers started. Calls is the number of calls that workers have answered or failed in.
	Started, Calls int64
	// Refused is the number of commands that turned out not to support the worker protocol.
	Refused int64
}

// handle is the pool's interface to a worker.
type handle interface {
	// greet waits until the worker is ready. It returns an error if the process is not a worker.
	greet() error
	call(ctx context.Context, list []byte, maxStdout int64) (process.Outcome, disposition, error)
	// worn reports whether the worker must be replaced after the call that has just ended.
	worn() bool
	// end kills the worker and does not wait for it. It is safe for concurrent use.
	end()
	// gone returns a channel that is closed when the worker has exited and has been cleaned up.
	gone() <-chan struct{}
	// expendable sets the function to call if the worker should end as soon as it is idle.
	expendable(leave func())
}

// NewPool returns a pool. Workers are started like the processes of the runner. Calls without a worker are run by the runner. Close the
// pool before the runner.
func NewPool(runner *process.Runner, o Options) *Pool {
	limits := runner.Limits()
	p := newPool(runner, limits.Stdout, o, func(c process.Command) (handle, error) { return start(runner.Starter(), c, limits) })
	p.prepareProcess = runner.Prepare
	return p
}

func newPool(fallback process.Processes, maxStdout int64, o Options, start func(process.Command) (handle, error)) *Pool {
	o.PerCommand, o.Total = max(o.PerCommand, 1), max(o.Total, 1)
	return &Pool{fallback: fallback, limit: maxStdout, start: start, options: o, groups: map[string]*group{}}
}

// Run lets a worker of the command answer a call, or else a process. The outcome and the errors are the same as from process.Runner.Run.
func (p *Pool) Run(ctx context.Context, c process.Command, stdin []byte) (process.Outcome, error) {
	if !c.Worker || len(c.Argv) == 0 || ctx.Err() != nil {
		return p.process(ctx, c, stdin)
	}
	begin := time.Now()
	m, useProcesses := p.acquire(ctx, c)
	if m == nil {
		// The next call will get a worker, so it needs no standby process.
		c.NoStandby = c.NoStandby || !useProcesses
		return p.process(ctx, c, stdin)
	}
	limit := c.MaxStdout
	if limit <= 0 {
		limit = p.limit
	}
	waited := time.Since(begin)
	out, d, err := m.call(ctx, stdin, limit)
	p.release(m, d, d != reusable || m.worn())
	if d == notRun {
		return p.process(ctx, c, stdin)
	}
	out.Start = waited
	return out, err
}

// process runs a process for one call. If its memory limit is higher than that of a group of workers, it ends the idle workers of that
// group, because the budget does not count them.
func (p *Pool) process(ctx context.Context, c process.Command, stdin []byte) (process.Outcome, error) {
	p.mu.Lock()
	for _, group := range p.groups {
		if limit := group.command.MemoryLimit; 0 < limit && limit < c.MemoryLimit {
			p.stopAll(group.idle)
		}
	}
	p.mu.Unlock()
	return p.fallback.Run(ctx, c, stdin)
}

// Prepare starts a worker for the next call if the command is a worker, and otherwise a standby process. It does not wait for the
// start.
func (p *Pool) Prepare(c process.Command) {
	if !c.Worker || len(c.Argv) == 0 {
		p.prepareProcess(c)
		return
	}
	program := c.Program()
	p.mu.Lock()
	defer p.mu.Unlock()
	if group := p.groupOf(&c, program); group != nil && len(group.members) == 0 {
		p.add(group)
	}
}

// acquire returns a worker for one call. It returns nil if no worker is available in time; useProcesses then reports whether the
// command does not support the protocol.
func (p *Pool) acquire(ctx context.Context, c process.Command) (m *member, useProcesses bool) {
	program := c.Program()
	p.mu.Lock()
	group := p.groupOf(&c, program)
	if group == nil || group.support == unsupported {
		p.mu.Unlock()
		return nil, true
	}
	if m := group.pop(); m != nil {
		p.mu.Unlock()
		return m, false
	}
	p.add(group)
	// Until a worker has greeted, calls do not wait, because the command may not support the protocol.
	if group.support != supported || len(group.members) == 0 {
		p.mu.Unlock()
		return nil, false
	}
	waiter := make(chan *member, 1)
	group.waiting = append(group.waiting, waiter)
	p.mu.Unlock()

	wait := time.NewTimer(maxWait)
	defer wait.Stop()
	select {
	case m := <-waiter:
		return m, false
	case <-wait.C:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(group.waiting, waiter); i >= 0 {
		group.waiting = slices.Delete(group.waiting, i, i+1)
		return nil, false
	}
	return <-waiter, false
}

// groupOf returns the command's group. It returns nil if the group's workers must not answer the call.
func (p *Pool) groupOf(c *process.Command, program child.File) *group {
	if !program.Is(program) {
		return nil // the process for the call reports that the executable is missing
	}
	key := c.Key()
	found := p.groups[key]
	if found == nil {
		if len(p.groups) >= maxCommands {
			maps.DeleteFunc(p.groups, func(_ string, c *group) bool { return len(c.members) == 0 })
		}
		found = &group{command: *c, program: program}
		p.groups[key] = found
		return found
	}
	fits, changed := found.fits(c, program)
	if changed {
		p.stopAll(found.members)
		found.releaseCallers()
	}
	if !fits {
		return nil
	}
	return found
}

// release returns a worker after a call. end says that the worker must be ended.
func (p *Pool) release(m *member, d disposition, end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.busy = false
	switch d {
	case notRun:
		p.countFailure(m.group, "it exited before it read its request")
	case protocolViolation:
		p.markUnsupported(m.group, "it wrote an answer that violates the worker protocol")
	case reusable, mustEnd:
		m.calls++
		p.stats.Calls++
		m.group.failures = 0
	}
	switch {
	case m.exited:
		p.replace(m)
	case end || m.leaving || m.calls >= maxCalls || p.closed:
		m.leaving = true
		m.end()
	default:
		m.group.offer(m)
	}
}

// Stats returns the counters.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Workers = int64(p.size)
	return stats
}

// Close ends all workers and waits until they have been cleaned up. Calls in flight fail, and later calls get a process each.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, c := range p.groups {
		for _, m := range c.members {
			m.leaving = true
			if m.handle != nil {
				m.end()
			}
		}
		c.idle = nil
		c.releaseCallers()
	}
	p.mu.Unlock()
	p.owners.Wait()
}
