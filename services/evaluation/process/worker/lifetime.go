// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"slices"
	"strings"
	"time"
)

// This is how workers come and go. The pool is locked, but in own and what own and sweeps call: arrived, ready, leaves, expire, expend.

// add starts a worker of a group that has room for one.
func (p *Pool) add(c *group) {
	most := p.o.PerCommand
	if c.trust == unknown {
		most = 1
	}
	if p.closed || c.trust == refused || len(c.members) >= most || (p.size >= p.o.Total && !p.makeRoom()) {
		return
	}
	p.size++
	m := &member{group: c, command: c.command, busy: true}
	c.members = append(c.members, m)
	p.owners.Go(func() { p.own(m) })
}

// makeRoom ends the worker that was used longest ago, and tells whether there is one that was not used just now.
func (p *Pool) makeRoom() bool {
	var oldest *member
	for _, c := range p.groups {
		for _, m := range c.idle {
			if time.Since(m.since) >= settledTime && (oldest == nil || m.since.Before(oldest.since)) {
				oldest = m
			}
		}
	}
	if oldest == nil {
		return false
	}
	p.stop(oldest)
	// It counts no more, although it has yet to end.
	p.remove(oldest)
	return true
}

// stop ends a worker that has no call, or has one end after its call.
func (p *Pool) stop(m *member) {
	m.leaving = true
	if i := slices.Index(m.group.idle, m); i >= 0 {
		m.group.idle = slices.Delete(m.group.idle, i, i+1)
		m.unneeded = true
		m.end()
	}
}

func (p *Pool) stopAll(members []*member) {
	for _, m := range slices.Clone(members) {
		p.stop(m)
	}
}

// remove takes a worker out of its group.
func (p *Pool) remove(m *member) {
	if i := slices.Index(m.group.members, m); i >= 0 {
		m.group.members = slices.Delete(m.group.members, i, i+1)
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
func (p *Pool) arrived(m *member, h handle, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.remove(m)
		m.group.releaseCallers()
		return false
	}
	m.handle = h
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
	if err == nil && !m.leaving && m.group.trust != refused {
		m.group.trust = agreed
		m.group.offer(m)
		return
	}
	if err != nil && !m.leaving {
		p.refuse(m.group, err.Error())
	}
	m.leaving = true
	m.end()
}

// leaves notes that nothing is left of a worker.
func (p *Pool) leaves(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(m.group.idle, m); i >= 0 {
		m.group.idle = slices.Delete(m.group.idle, i, i+1)
	}
	p.remove(m)
	m.left = true
	// What a call is about to give back is replaced then.
	if !m.busy {
		p.replace(m)
	}
}

// replace starts in the place of a worker that has left, if that was of use.
func (p *Pool) replace(m *member) {
	if m.calls == 0 && !m.leaving {
		p.failed(m.group, "it ends before its first call")
	}
	if (m.calls > 0 && !m.unneeded) || len(m.group.waiting) > 0 {
		p.add(m.group)
	}
	if len(m.group.members) == 0 {
		m.group.releaseCallers()
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
	p.stop(m)
	return idleTime
}

// expend ends a worker as soon as it has no call.
func (p *Pool) expend(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop(m)
}

// failed counts workers that ended without an answer.
func (p *Pool) failed(c *group, why string) {
	if c.failures++; c.failures >= mostFailures {
		p.refuse(c, why)
	}
}

// refuse gives a command no more workers.
func (p *Pool) refuse(c *group, why string) {
	if c.trust == refused {
		return
	}
	c.trust = refused
	p.stats.Refused++
	p.stopAll(c.idle)
	c.releaseCallers()
	p.o.Log.Warn("a function that should be a worker is none, it gets a process for each call", "command", strings.Join(c.command.Argv, " "), "why", why)
}
