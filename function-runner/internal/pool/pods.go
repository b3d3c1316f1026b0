// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import "time"

// become puts a pod into a state, which ends what was true in the one before.
func (m *pod[P]) become(s state) { m.state, m.problem, m.recalled = s, nil, false }

// Starting says that a pod is there and not ready: one that another replica has made, or one that has to show anew that it
// is. Calls that it runs go on.
func (p *Pool[P]) Starting(slot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ensure(slot).become(starting)
}

// Ready says that the pod in a slot answers at an endpoint, for the first time or again. It takes the calls that have waited
// longest. The first time ends a back-off.
func (p *Pool[P]) Ready(slot int, endpoint P) {
	p.mu.Lock()
	defer p.unlock()
	m := p.ensure(slot)
	m.become(ready)
	now := time.Now()
	m.endpoint, m.used, m.ready = endpoint, now, now
	p.dispatch()
	if !m.served && p.failure.pause > 0 {
		p.failure = failure{}
		// While one pod was tried, the calls that wait had no others.
		p.grow(p.missing())
	}
	m.served, m.failed = true, false
}

// Unreachable says that the pod in a slot does not answer any more: it gets no calls and does not count, until Ready says that it
// answers again, and holds its slot. Calls that it runs go on. The calls that wait get another pod.
func (p *Pool[P]) Unreachable(slot int) { p.lost(slot, unreachable) }

// Leaving says that the pod in a slot gets no more calls, because somebody deletes it. The calls that wait get another pod.
func (p *Pool[P]) Leaving(slot int) { p.lost(slot, leaving) }

func (p *Pool[P]) lost(slot int, s state) {
	p.mu.Lock()
	defer p.unlock()
	m := p.ensure(slot)
	m.become(s)
	p.settle(p.replacement(m))
}

// replacement returns how many pods are wanted after one was lost. The minimum waits for Fill where it never served: pods that fail
// as soon as they start would be made in a loop.
func (p *Pool[P]) replacement(m *pod[P]) int {
	if m.failed {
		return p.waitedFor()
	}
	return p.missing()
}

// Problem says why a pod that is starting may never become ready, as far as can be seen; nil says that it may again. As
// long as there is no pod but such ones, calls get that error at once.
func (p *Pool[P]) Problem(slot int, err error) {
	p.mu.Lock()
	defer p.unlock()
	if m := p.find(slot); m != nil && m.state == starting {
		m.problem = err
		p.settle(0)
	}
}

// Failed says that the pod in a slot will never become ready, why, and that it holds its slot until it is gone. If it never was
// ready, the calls that wait get that error when no other pod is left, and no pod is wanted for 1 s, after each further failure for
// twice as long up to 30 s, and then one at a time until one is ready. An error with a method Retry() bool that returns true
// has calls made again without such a pause, as pods are made differently from now on. If it was ready, the calls that wait get
// another pod.
func (p *Pool[P]) Failed(slot int, err error) {
	p.mu.Lock()
	defer p.unlock()
	m := p.ensure(slot)
	m.become(leaving)
	m.failed = !m.served
	p.failed(m, err)
}

// NotMade says that the pod that was wanted in a slot cannot be made, and why. It does what Failed does, and frees the slot.
func (p *Pool[P]) NotMade(slot int, err error) {
	p.mu.Lock()
	defer p.unlock()
	if m := p.find(slot); m != nil && m.state == starting {
		p.remove(slot)
		p.failed(m, err)
	}
}

// Withdraw is called right before the pod that was wanted in a slot is made, where that had to wait, and tells whether nobody needs it
// any more; the slot is free then. It is not needed above the maximum, nor, while no call waits, where the pool is retired, which gets
// no new calls, or where there is the minimum without it and room in another pod.
func (p *Pool[P]) Withdraw(slot int, retired bool) bool {
	p.mu.Lock()
	defer p.unlock()
	m := p.find(slot)
	if m == nil || m.state != starting || m.recalled || !p.needless(m, retired) {
		return false
	}
	p.remove(slot)
	p.settle(0)
	return true
}

func (p *Pool[P]) needless(m *pod[P], retired bool) bool {
	switch {
	case p.live() > p.config.MaxPods:
		return true
	case p.waiting.Len() > 0:
		return false
	}
	return retired || p.live() > p.config.MinPods && p.room() > m.room(p.config.Waitlist)
}

// Gone says that there is no pod in a slot any more. The calls that wait go on waiting, for a new pod if need be.
func (p *Pool[P]) Gone(slot int) {
	p.mu.Lock()
	defer p.unlock()
	m := p.find(slot)
	if m == nil {
		return
	}
	// The calls that it ran find out for themselves, and give their places back to nobody.
	p.remove(slot)
	p.block(slot, cooling)
	p.settle(p.replacement(m))
}

// Avoid says that somebody else's pod has the name of the pod in a slot. The slot is empty then, and gets no pod for d; if one was
// wanted there, another slot gets it at once.
func (p *Pool[P]) Avoid(slot int, d time.Duration) {
	p.mu.Lock()
	defer p.unlock()
	p.block(slot, d)
	m := p.find(slot)
	if m == nil {
		return
	}
	p.remove(slot)
	wanted := p.missing()
	if m.state == starting {
		wanted = max(1, wanted)
	}
	p.settle(wanted)
}
