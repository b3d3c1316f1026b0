// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"slices"
	"time"
)

// cooling is how long a slot stays empty after its pod has gone. Another replica may see that later, and take the next slot
// instead, which would make one pod too many.
const cooling = 5 * time.Second

// grow asks for as many pods as are wanted and allowed: first for those that were given up, then for new ones in the first free
// slots.
func (p *Pool[P]) grow(wanted int) {
	wanted = min(wanted, p.config.MaxPods-p.live())
	wanted -= p.recall(wanted)
	if wanted <= 0 {
		return
	}
	for range min(wanted, p.mayStart()) {
		p.asked = append(p.asked, p.add(p.freeSlot()).slot)
	}
}

// recall asks for at most n of the pods that were given up, and returns for how many.
func (p *Pool[P]) recall(n int) int {
	found := 0
	for _, m := range p.pods {
		if found < n && m.state == givenUp {
			m.become(starting)
			m.recalled = true
			p.asked = append(p.asked, m.slot)
			found++
		}
	}
	return found
}

// settle asks for the pods that are wanted after one was lost. Where none is to come, the calls that wait get to know why.
func (p *Pool[P]) settle(wanted int) {
	p.grow(wanted)
	if err := p.hopeless(); err != nil {
		p.refuse(err)
	}
}

// hopeless returns why a call without a place would wait in vain: no pod may be wanted yet, or all that there are are starting
// and have a problem. Otherwise it returns nil.
func (p *Pool[P]) hopeless() error {
	var problem error
	for _, m := range p.pods {
		if m.state == ready || m.state == starting && m.problem == nil {
			return nil
		}
		if m.state == starting {
			problem = m.problem
		}
	}
	if problem == nil && p.failure.lasts() {
		return &BackoffError{Err: p.failure.reason, Until: p.failure.until}
	}
	return problem
}

// freeSlot returns the first slot that no pod holds and that is not blocked.
func (p *Pool[P]) freeSlot() int {
	for slot, until := range p.blocked {
		if !time.Now().Before(until) {
			delete(p.blocked, slot)
		}
	}
	for slot := 1; ; slot++ {
		_, blocked := p.blocked[slot]
		if _, held := p.search(slot); !held && !blocked {
			return slot
		}
	}
}

// block has a slot get no pod for a time.
func (p *Pool[P]) block(slot int, d time.Duration) { p.blocked[slot] = time.Now().Add(d) }

// find returns the pod in a slot; nil where there is none.
func (p *Pool[P]) find(slot int) *pod[P] {
	if i, ok := p.search(slot); ok {
		return p.pods[i]
	}
	return nil
}

// ensure returns the pod in a slot, a new one if need be.
func (p *Pool[P]) ensure(slot int) *pod[P] {
	if m := p.find(slot); m != nil {
		return m
	}
	return p.add(slot)
}

func (p *Pool[P]) add(slot int) *pod[P] {
	i, _ := p.search(slot)
	m := &pod[P]{slot: slot, came: time.Now()}
	p.pods = slices.Insert(p.pods, i, m)
	return m
}

func (p *Pool[P]) remove(slot int) {
	if i, ok := p.search(slot); ok {
		p.pods = slices.Delete(p.pods, i, i+1)
	}
}

func (p *Pool[P]) search(slot int) (int, bool) {
	return slices.BinarySearchFunc(p.pods, slot, func(m *pod[P], slot int) int { return m.slot - slot })
}
