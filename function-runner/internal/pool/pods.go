// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"slices"
	"time"
)

// Starting says that a pod is there and not ready: one that another replica has made, or one that has to show anew that it
// is. Calls that it runs go on.
func (p *Pool[P]) Starting(slot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.find(slot)
	if m == nil {
		m = p.add(slot)
	}
	m.state, m.problem = starting, nil
}

// Ready says that the pod in a slot answers at an endpoint. It takes the calls that have waited longest.
func (p *Pool[P]) Ready(slot int, endpoint P) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.find(slot)
	if m == nil {
		m = p.add(slot)
	}
	now := time.Now()
	m.state, m.endpoint, m.used, m.ready, m.problem = ready, endpoint, now, now, nil
	p.dispatch()
}

// Leaving says that the pod in a slot gets no more calls, because somebody deletes it.
func (p *Pool[P]) Leaving(slot int) {
	p.mu.Lock()
	m := p.find(slot)
	if m == nil {
		m = p.add(slot)
	}
	m.state = leaving
	slots := p.grow(p.missing())
	p.giveUp()
	p.mu.Unlock()
	p.startAll(slots)
}

// Problem says why a pod that is starting may never become ready, as far as can be seen; nil says that it may again. As
// long as there is no pod but such ones, calls get that error at once.
func (p *Pool[P]) Problem(slot int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.find(slot); m != nil && m.state == starting {
		m.problem = err
		p.giveUp()
	}
}

// Failed says that the pod in a slot will never become ready, why, and that it holds its slot until it is gone. When no
// other is left, the calls that wait get that error.
func (p *Pool[P]) Failed(slot int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.find(slot)
	if m == nil {
		m = p.add(slot)
	}
	m.state, m.failed = leaving, true
	p.failed(err)
}

// Gone says that there is no pod in a slot any more. The calls that wait go on waiting, for a new pod if need be.
func (p *Pool[P]) Gone(slot int) {
	p.mu.Lock()
	m := p.find(slot)
	if m == nil {
		p.mu.Unlock()
		return
	}
	// The calls that it ran find out for themselves, and give their places back to nobody.
	p.remove(slot)
	p.freed[slot] = time.Now()
	wanted := p.missing()
	if m.failed {
		// The minimum waits for Fill: pods that fail as soon as they start would be made in a loop.
		wanted = p.waitedFor()
	}
	slots := p.grow(wanted)
	p.giveUp()
	p.mu.Unlock()
	p.startAll(slots)
}

// NotMade says that the pod that was wanted in a slot cannot be made, and why. When no other is left, the calls that wait
// get that error.
func (p *Pool[P]) NotMade(slot int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.find(slot); m == nil || m.state != starting {
		return
	}
	p.remove(slot)
	p.failed(err)
}

// failed goes on after a pod has failed. It makes no other, which would fail as well, over and over.
func (p *Pool[P]) failed(err error) {
	if p.live() == 0 {
		p.refuse(err)
	}
	p.giveUp()
}

// giveUp refuses the calls that wait, where every pod has a problem.
func (p *Pool[P]) giveUp() {
	if err := p.stuck(); err != nil {
		p.refuse(err)
	}
}

// Fill wants the pods that are missing to the minimum.
func (p *Pool[P]) Fill() {
	p.mu.Lock()
	slots := p.grow(p.missing())
	p.mu.Unlock()
	p.startAll(slots)
}

// Warm wants a pod where there is none.
func (p *Pool[P]) Warm() {
	p.mu.Lock()
	var slots []int
	if p.live() == 0 {
		slots = p.grow(1)
	}
	p.mu.Unlock()
	p.startAll(slots)
}

// Expire makes the pods leave that have been idle for longer than the TTL, the last slots first, down to the minimum. It
// returns their slots. used tells when others have used the pod in a slot, which may be later than what is known here.
func (p *Pool[P]) Expire(used func(slot int) time.Time) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var slots []int
	live, deadline := p.live(), time.Now().Add(-p.config.TTL)
	for _, m := range slices.Backward(p.pods) {
		if live <= p.config.MinPods {
			break
		}
		if m.state != ready || m.running > 0 || m.used.After(deadline) || used(m.slot).After(deadline) {
			continue
		}
		m.state = leaving
		slots = append(slots, m.slot)
		live--
	}
	return slots
}

// Keep takes Expire back for a pod that could not be deleted because somebody has used it.
func (p *Pool[P]) Keep(slot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.find(slot); m != nil && m.state == leaving {
		m.state, m.used = ready, time.Now()
		p.dispatch()
	}
}
