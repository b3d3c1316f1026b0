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
	m.state = starting
}

// Ready says that the pod in a slot answers at an endpoint. It takes the calls that have waited longest.
func (p *Pool[P]) Ready(slot int, endpoint P) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.find(slot)
	if m == nil {
		m = p.add(slot)
	}
	m.state, m.endpoint, m.used = ready, endpoint, time.Now()
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
	p.mu.Unlock()
	p.startAll(slots)
}

// Gone says that there is no pod in a slot any more, and why, if it never became ready: when no other is left that could,
// the calls that wait get that error. Otherwise they go on waiting, for a new pod if need be.
func (p *Pool[P]) Gone(slot int, err error) {
	p.mu.Lock()
	m := p.find(slot)
	if m == nil {
		p.mu.Unlock()
		return
	}
	// The calls that it ran find out for themselves, and give their places back to nobody.
	p.remove(slot)
	if m.state == starting && err != nil && p.live() == 0 {
		for p.waiting.Len() > 0 {
			p.answerNext(answer[P]{err: err})
		}
		// To make another at once would fail at once.
		p.mu.Unlock()
		return
	}
	slots := p.grow(p.missing())
	p.mu.Unlock()
	p.startAll(slots)
}

// Fill wants the pods that are missing to the minimum.
func (p *Pool[P]) Fill() {
	p.mu.Lock()
	slots := p.grow(p.missing())
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

// Stay takes Expire back for a pod that could not be deleted because somebody has used it.
func (p *Pool[P]) Stay(slot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.find(slot); m != nil && m.state == leaving {
		m.state, m.used = ready, time.Now()
		p.dispatch()
	}
}
