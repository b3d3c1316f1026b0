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
	"strings"
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

// Pool keeps workers for the commands that say that they are some. All else it hands on, and what finds no worker too. It may be
// used by any number of goroutines at once.
//
// Each call has a worker for itself. A call that fails otherwise than by its exit code, or is ended, costs the worker.
type Pool struct {
	next  process.Processes
	ahead func(process.Command)
	limit int64
	start func(process.Command) (hand, error)
	o     Options

	// owners are the goroutines that have started a worker each, until nothing is left of it.
	owners sync.WaitGroup

	mu     sync.Mutex
	crews  map[string]*crew
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

// hand is a worker as the pool sees it.
type hand interface {
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
	p := newPool(runner, limits.Stdout, o, func(c process.Command) (hand, error) { return start(runner.Starter(), c, limits) })
	p.ahead = runner.Prepare
	return p
}

func newPool(next process.Processes, maxStdout int64, o Options, start func(process.Command) (hand, error)) *Pool {
	o.PerCommand, o.Total = max(o.PerCommand, 1), max(o.Total, 1)
	return &Pool{next: next, limit: maxStdout, start: start, o: o, crews: map[string]*crew{}}
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
	for _, crew := range p.crews {
		if limit := crew.command.MemoryLimit; 0 < limit && limit < c.MemoryLimit {
			p.dismissAll(crew.idle)
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
	program := programOf(&c)
	p.mu.Lock()
	defer p.mu.Unlock()
	if crew := p.crewOf(&c, program); crew != nil && len(crew.members) == 0 {
		p.hire(crew)
	}
}

// take returns a worker for one call; nil where there is none, or none in time, and then whether the command is none.
func (p *Pool) take(ctx context.Context, c process.Command) (m *member, none bool) {
	program := programOf(&c)
	p.mu.Lock()
	crew := p.crewOf(&c, program)
	if crew == nil || crew.trust == refused {
		p.mu.Unlock()
		return nil, true
	}
	if m := crew.pop(); m != nil {
		p.mu.Unlock()
		return m, false
	}
	p.hire(crew)
	// The first call does not wait for a program that may be no worker.
	if crew.trust != agreed || len(crew.members) == 0 {
		p.mu.Unlock()
		return nil, false
	}
	place := make(chan *member, 1)
	crew.waiting = append(crew.waiting, place)
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
	if i := slices.Index(crew.waiting, place); i >= 0 {
		crew.waiting = slices.Delete(crew.waiting, i, i+1)
		return nil, false
	}
	return <-place, false
}

// crewOf returns the crew of a command; nil where the call is not for it.
func (p *Pool) crewOf(c *process.Command, program child.File) *crew {
	if !program.Is(program) {
		return nil // that it is not there is told by the process
	}
	key := keyOf(c)
	found := p.crews[key]
	if found == nil {
		if len(p.crews) >= mostCommands {
			maps.DeleteFunc(p.crews, func(_ string, c *crew) bool { return len(c.members) == 0 })
		}
		found = &crew{command: *c, program: program}
		p.crews[key] = found
		return found
	}
	fits, changed := found.fits(c, program)
	if changed {
		p.dismissAll(found.members)
		found.dissolve()
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
		p.failed(m.crew, "it ends before it reads its request")
	case foreign:
		p.refuse(m.crew, "it answers with what is no answer of a worker")
	case kept, spent:
		m.calls++
		p.stats.Calls++
		m.crew.failures = 0
	}
	switch {
	case m.left:
		p.replace(m)
	case end || m.leaving || m.calls >= mostCalls || p.closed:
		m.leaving = true
		m.end()
	default:
		m.crew.offer(m)
	}
}

// hire starts a worker of a crew that has room for one.
func (p *Pool) hire(c *crew) {
	most := p.o.PerCommand
	if c.trust == unknown {
		most = 1
	}
	if p.closed || c.trust == refused || len(c.members) >= most || (p.size >= p.o.Total && !p.makeRoom()) {
		return
	}
	p.size++
	m := &member{crew: c, command: c.command, busy: true}
	c.members = append(c.members, m)
	p.owners.Go(func() { p.own(m) })
}

// makeRoom ends the worker that was used longest ago, and tells whether there is one that was not used just now.
func (p *Pool) makeRoom() bool {
	var oldest *member
	for _, c := range p.crews {
		for _, m := range c.idle {
			if time.Since(m.since) >= settledTime && (oldest == nil || m.since.Before(oldest.since)) {
				oldest = m
			}
		}
	}
	if oldest == nil {
		return false
	}
	p.dismiss(oldest)
	// It counts no more, although it has yet to end.
	p.strike(oldest)
	return true
}

// dismiss ends a worker that has no call, or has one end after its call.
func (p *Pool) dismiss(m *member) {
	m.leaving = true
	if i := slices.Index(m.crew.idle, m); i >= 0 {
		m.crew.idle = slices.Delete(m.crew.idle, i, i+1)
		m.unneeded = true
		m.end()
	}
}

func (p *Pool) dismissAll(members []*member) {
	for _, m := range slices.Clone(members) {
		p.dismiss(m)
	}
}

// strike takes a worker out of its crew.
func (p *Pool) strike(m *member) {
	if i := slices.Index(m.crew.members, m); i >= 0 {
		m.crew.members = slices.Delete(m.crew.members, i, i+1)
		p.size--
	}
}

// own starts a worker, and returns when nothing of it is left.
func (p *Pool) own(m *member) {
	h, err := p.start(m.command)
	if !p.arrived(m, h, err) {
		return
	}
	p.ready(m, h.greet())
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	for {
		select {
		case <-h.gone():
			p.leaves(m)
			return
		case <-idle.C:
			idle.Reset(p.expire(m))
		}
	}
}

// arrived notes that a worker has been started, or that it could not be: what is wrong then is told by the process for the call.
func (p *Pool) arrived(m *member, h hand, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.strike(m)
		m.crew.dissolve()
		return false
	}
	m.hand = h
	p.stats.Started++
	h.expendable(func() { p.expend(m) })
	if p.closed {
		m.leaving = true
		h.end()
	}
	return true
}

// ready offers a worker that has greeted.
func (p *Pool) ready(m *member, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.busy = false
	if err == nil && !m.leaving && m.crew.trust != refused {
		m.crew.trust = agreed
		m.crew.offer(m)
		return
	}
	if err != nil && !m.leaving {
		p.refuse(m.crew, err.Error())
	}
	m.leaving = true
	m.end()
}

// leaves notes that nothing is left of a worker.
func (p *Pool) leaves(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(m.crew.idle, m); i >= 0 {
		m.crew.idle = slices.Delete(m.crew.idle, i, i+1)
	}
	p.strike(m)
	m.left = true
	// What a call is about to give back is replaced then.
	if !m.busy {
		p.replace(m)
	}
}

// replace hires in the place of a worker that has left, if that was of use.
func (p *Pool) replace(m *member) {
	if m.calls == 0 && !m.leaving {
		p.failed(m.crew, "it ends before its first call")
	}
	if (m.calls > 0 && !m.unneeded) || len(m.crew.waiting) > 0 {
		p.hire(m.crew)
	}
	if len(m.crew.members) == 0 {
		m.crew.dissolve()
	}
}

// expire ends a worker that has had no call for long, and returns when to look again.
func (p *Pool) expire(m *member) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.busy || m.leaving {
		return idleTime
	}
	if rest := idleTime - time.Since(m.since); rest > 0 {
		return rest
	}
	p.dismiss(m)
	return idleTime
}

// expend ends a worker as soon as it has no call.
func (p *Pool) expend(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dismiss(m)
}

// failed counts workers that ended without an answer.
func (p *Pool) failed(c *crew, why string) {
	if c.failures++; c.failures >= mostFailures {
		p.refuse(c, why)
	}
}

// refuse gives a command no more workers.
func (p *Pool) refuse(c *crew, why string) {
	if c.trust == refused {
		return
	}
	c.trust = refused
	p.stats.Refused++
	p.dismissAll(c.idle)
	c.dissolve()
	p.o.Log.Warn("a function that should be a worker is none, it gets a process for each call", "command", strings.Join(c.command.Argv, " "), "why", why)
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
	for _, c := range p.crews {
		for _, m := range c.members {
			m.leaving = true
			if m.hand != nil {
				m.end()
			}
		}
		c.idle = nil
		c.dissolve()
	}
	p.mu.Unlock()
	p.owners.Wait()
}
