// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package worker runs functions as workers: processes that answer many calls, one after the other, in the protocol of package
// workerprotocol. What cannot be run so is run by a process for the call.
package worker

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/evaluation/process/internal/child"
)

// Options are the bounds of a Pool.
type Options struct {
	// PerCommand is how many workers each command has at most, and calls at once therefore: as many as there are processors.
	PerCommand int
	// Total is how many workers all commands have together. The one that was used longest ago makes room.
	Total int
	// Log is told, once for each command, that it is no worker.
	Log *slog.Logger
}

const (
	// mostCalls is after how many calls a worker is replaced.
	mostCalls = 1000
	// mostMemory is how many bytes a worker may have between two calls.
	mostMemory = 64 << 20
	// idleTime is how long a worker waits for the next call.
	idleTime = 30 * time.Second
	// patience is how long a call waits for a worker, before it gets a process: others may hang until their deadlines.
	patience = 100 * time.Millisecond
	// settledTime is how long a worker must have been idle to make room for one of another command. With less, functions that are
	// called in turn would have their workers end for each other.
	settledTime = time.Second
	// mostCommands is how many commands are known at once, beyond those with workers.
	mostCommands = 1000
	// mostFailures is how many workers in a row may end without an answer, before their command gets no more.
	mostFailures = 3
)

// Pool keeps workers for the commands that say that they are some. All else it fakes on, and what finds no worker too. It may be
// used by any number of goroutines at once.
//
// Each call has a worker for itself. A call that fails otherwise than by its exit code, or is ended, costs the worker.
type Pool struct {
	next  process.Processes
	ahead func(process.Command)
	limit int64
	start func(process.Command) (handle, error)
	o     Options

	// owners are the goroutines that have started a worker each, until nothing is left of it.
	owners sync.WaitGroup

	mu     sync.Mutex
	groups map[string]*group
	size   int
	stats  Stats
	closed bool
}

// Stats count since the pool was made.
type Stats struct {
	// Workers is how many there are now.
	Workers int64
	// Started is how many have been started, Calls how many calls they have answered or failed in.
	Started, Calls int64
	// Refused is how many commands have turned out to be no workers.
	Refused int64
}

// handle is a worker as the pool sees it.
type handle interface {
	// greet waits until the worker is ready. The error is that it is none.
	greet() error
	call(ctx context.Context, list []byte, maxStdout int64) (process.Outcome, fate, error)
	// worn tells whether it should be replaced after the call that has just ended.
	worn() bool
	// end ends it at once, and does not wait for it. It may be called at any time.
	end()
	// gone is closed when nothing of it is left.
	gone() <-chan struct{}
	// expendable sets what is called when it should end as soon as it has no call.
	expendable(leave func())
}

// NewPool returns a pool whose workers are started like the processes of a runner, which runs everything else. The runner must be
// closed after the pool.
func NewPool(runner *process.Runner, o Options) *Pool {
	limits := runner.Limits()
	p := newPool(runner, limits.Stdout, o, func(c process.Command) (handle, error) { return start(runner.Starter(), c, limits) })
	p.ahead = runner.Prepare
	return p
}

func newPool(next process.Processes, maxStdout int64, o Options, start func(process.Command) (handle, error)) *Pool {
	o.PerCommand, o.Total = max(o.PerCommand, 1), max(o.Total, 1)
	return &Pool{next: next, limit: maxStdout, start: start, o: o, groups: map[string]*group{}}
}

// Run has a worker of the command answer a call. Outcome and errors are those of a process for the call.
func (p *Pool) Run(ctx context.Context, c process.Command, stdin []byte) (process.Outcome, error) {
	if !c.Worker || len(c.Argv) == 0 || ctx.Err() != nil {
		return p.process(ctx, c, stdin)
	}
	begin := time.Now()
	m, none := p.take(ctx, c)
	if m == nil {
		// What waits for the next call is a worker.
		c.NoStandby = c.NoStandby || !none
		return p.process(ctx, c, stdin)
	}
	limit := c.MaxStdout
	if limit <= 0 {
		limit = p.limit
	}
	waited := time.Since(begin)
	out, f, err := m.call(ctx, stdin, limit)
	p.give(m, f, f != kept || m.worn())
	if f == untouched {
		return p.process(ctx, c, stdin)
	}
	out.Start = waited
	return out, err
}

// process has a process answer one call. One that may have more memory than workers of a command takes that of the idle ones.
func (p *Pool) process(ctx context.Context, c process.Command, stdin []byte) (process.Outcome, error) {
	p.mu.Lock()
	for _, group := range p.groups {
		if limit := group.command.MemoryLimit; 0 < limit && limit < c.MemoryLimit {
			p.stopAll(group.idle)
		}
	}
	p.mu.Unlock()
	return p.next.Run(ctx, c, stdin)
}

// Prepare starts a process for the next call of the command: a worker where it says that it is one, else what the runner prepares. It
// does not wait for that.
func (p *Pool) Prepare(c process.Command) {
	if !c.Worker || len(c.Argv) == 0 {
		p.ahead(c)
		return
	}
	program := c.Program()
	p.mu.Lock()
	defer p.mu.Unlock()
	if group := p.groupOf(&c, program); group != nil && len(group.members) == 0 {
		p.add(group)
	}
}

// take returns a worker for one call; nil where there is none, or none in time, and then whether the command is none.
func (p *Pool) take(ctx context.Context, c process.Command) (m *member, none bool) {
	program := c.Program()
	p.mu.Lock()
	group := p.groupOf(&c, program)
	if group == nil || group.trust == refused {
		p.mu.Unlock()
		return nil, true
	}
	if m := group.pop(); m != nil {
		p.mu.Unlock()
		return m, false
	}
	p.add(group)
	// The first call does not wait for a program that may be no worker.
	if group.trust != agreed || len(group.members) == 0 {
		p.mu.Unlock()
		return nil, false
	}
	place := make(chan *member, 1)
	group.waiting = append(group.waiting, place)
	p.mu.Unlock()

	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case m := <-place:
		return m, false
	case <-wait.C:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(group.waiting, place); i >= 0 {
		group.waiting = slices.Delete(group.waiting, i, i+1)
		return nil, false
	}
	return <-place, false
}

// groupOf returns the group of a command; nil where the call is not for it.
func (p *Pool) groupOf(c *process.Command, program child.File) *group {
	if !program.Is(program) {
		return nil // that it is not there is told by the process
	}
	key := c.Key()
	found := p.groups[key]
	if found == nil {
		if len(p.groups) >= mostCommands {
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

// give takes a worker back after a call, to keep it or to end it.
func (p *Pool) give(m *member, f fate, end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.busy = false
	switch f {
	case untouched:
		p.failed(m.group, "it ends before it reads its request")
	case foreign:
		p.refuse(m.group, "it answers with what is no answer of a worker")
	case kept, spent:
		m.calls++
		p.stats.Calls++
		m.group.failures = 0
	}
	switch {
	case m.left:
		p.replace(m)
	case end || m.leaving || m.calls >= mostCalls || p.closed:
		m.leaving = true
		m.end()
	default:
		m.group.offer(m)
	}
}

// Stats returns the counts.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Workers = int64(p.size)
	return stats
}

// Close ends all workers and returns when nothing of them is left. Calls that still run fail; later ones get a process each.
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
