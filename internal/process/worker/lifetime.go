// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"slices"
	"strings"
	"time"
)

// This file contains the life cycle of workers. The caller holds Pool.mu in all functions except supervise, onStarted, onReady,
// onExited, expire and endWhenIdle, which lock it.

// add starts a worker of the group, unless a limit is reached.
func (p *Pool) add(c *group) {
	most := p.options.PerCommand
	if c.support == supportUnknown {
		most = 1
	}
	if p.closed || c.support == unsupported || len(c.members) >= most || (p.size >= p.options.Total && !p.evictOldest()) {
		return
	}
	p.size++
	m := &member{group: c, command: c.command, busy: true}
	c.members = append(c.members, m)
	p.owners.Go(func() { p.supervise(m) })
}

// evictOldest ends the worker that has been idle longest. It reports false if no worker has been idle for minIdleTime.
func (p *Pool) evictOldest() bool {
	var oldest *member
	for _, c := range p.groups {
		for _, m := range c.idle {
			if time.Since(m.since) >= minIdleTime && (oldest == nil || m.since.Before(oldest.since)) {
				oldest = m
			}
		}
	}
	if oldest == nil {
		return false
	}
	p.stop(oldest)
	// Free its slot in the pool now, although the process has yet to exit.
	p.remove(oldest)
	return true
}

// stop ends an idle worker. A busy worker ends after its call.
func (p *Pool) stop(m *member) {
	m.leaving = true
	if i := slices.Index(m.group.idle, m); i >= 0 {
		m.group.idle = slices.Delete(m.group.idle, i, i+1)
		m.evicted = true
		m.end()
	}
}

func (p *Pool) stopAll(members []*member) {
	for _, m := range slices.Clone(members) {
		p.stop(m)
	}
}

// remove removes a worker from its group.
func (p *Pool) remove(m *member) {
	if i := slices.Index(m.group.members, m); i >= 0 {
		m.group.members = slices.Delete(m.group.members, i, i+1)
		p.size--
	}
}

// supervise starts a worker and returns after its process and all resources are gone.
func (p *Pool) supervise(m *member) {
	h, err := p.start(m.command)
	if !p.onStarted(m, h, err) {
		return
	}
	p.onReady(m, h.greet())
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	for {
		select {
		case <-h.gone():
			p.onExited(m)
			return
		case <-idle.C:
			idle.Reset(p.expire(m))
		}
	}
}

// onStarted records the result of a start and reports whether it succeeded. After a failed start, the process for the call reports the
// error.
func (p *Pool) onStarted(m *member, h handle, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.remove(m)
		m.group.releaseCallers()
		return false
	}
	m.handle = h
	p.stats.Started++
	h.expendable(func() { p.endWhenIdle(m) })
	if p.closed {
		m.leaving = true
		h.end()
	}
	return true
}

// onReady makes a worker available that has greeted, or ends one that has not.
func (p *Pool) onReady(m *member, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.busy = false
	if err == nil && !m.leaving && m.group.support != unsupported {
		m.group.support = supported
		m.group.offer(m)
		return
	}
	if err != nil && !m.leaving {
		p.markUnsupported(m.group, err.Error())
	}
	m.leaving = true
	m.end()
}

// onExited records that a worker has exited and has been cleaned up.
func (p *Pool) onExited(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(m.group.idle, m); i >= 0 {
		m.group.idle = slices.Delete(m.group.idle, i, i+1)
	}
	p.remove(m)
	m.exited = true
	// A busy worker is replaced when its call returns it.
	if !m.busy {
		p.replace(m)
	}
}

// replace starts a worker in place of one that has exited, if the group is in use.
func (p *Pool) replace(m *member) {
	if m.calls == 0 && !m.leaving {
		p.countFailure(m.group, "it exited before its first call")
	}
	if (m.calls > 0 && !m.evicted) || len(m.group.waiting) > 0 {
		p.add(m.group)
	}
	if len(m.group.members) == 0 {
		m.group.releaseCallers()
	}
}

// expire ends a worker that has been idle for idleTime. It returns the time until the next check.
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

// endWhenIdle ends a worker as soon as it is idle.
func (p *Pool) endWhenIdle(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop(m)
}

// countFailure counts consecutive workers that ended without answering a call. After maxFailures of them, the command gets no more workers.
func (p *Pool) countFailure(c *group, why string) {
	if c.failures++; c.failures >= maxFailures {
		p.markUnsupported(c, why)
	}
}

// markUnsupported disables workers for the command.
func (p *Pool) markUnsupported(c *group, why string) {
	if c.support == unsupported {
		return
	}
	c.support = unsupported
	p.stats.Refused++
	p.stopAll(c.idle)
	c.releaseCallers()
	p.options.Log.Warn("the function does not support the worker protocol, it gets a process for each call", "command", strings.Join(c.command.Argv, " "), "why", why)
}
