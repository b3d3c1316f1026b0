// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"slices"
	"strings"
	"time"
)

// This is how workers come and go. The pool is locked, but in own and what own and sweeps call: arrived, ready, leaves, expire, expend.

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
