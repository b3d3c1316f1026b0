// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"slices"
	"time"
)

// take returns a place: in the first pod that has less to do than makes another pod wanted, so that those behind it fall
// idle and expire; or else in the one with the least to do. It is nil where all are full.
func (p *Pool[P]) take() *Place[P] {
	var chosen *pod[P]
	for _, m := range p.pods {
		if m.state != ready || m.running >= p.config.PerPod {
			continue
		}
		if m.running < p.config.Waitlist {
			chosen = m
			break
		}
		if chosen == nil || m.running < chosen.running {
			chosen = m
		}
	}
	if chosen == nil {
		return nil
	}
	chosen.running++
	return &Place[P]{Endpoint: chosen.endpoint, Slot: chosen.slot, pool: p, pod: chosen}
}

// wanted returns how many more pods a call that comes now wants: one, if all ready pods have enough to do, and so will those
// that are starting, with the calls that wait for them.
func (p *Pool[P]) wanted() int {
	startingPods := 0
	for _, m := range p.pods {
		switch {
		case m.state == ready && m.running < p.config.Waitlist:
			return 0
		case m.state == starting:
			startingPods++
		}
	}
	if p.waiting.Len() < startingPods*p.config.Waitlist {
		return 0
	}
	return 1
}

// missing returns how many more pods there should be, whoever calls.
func (p *Pool[P]) missing() int {
	return max(p.config.MinPods-p.live(), p.waitedFor())
}

// waitedFor returns 1 if calls wait and no pod will ever take them, else 0.
func (p *Pool[P]) waitedFor() int {
	if p.waiting.Len() > 0 && p.live() == 0 {
		return 1
	}
	return 0
}

// live returns how many pods count towards the maximum.
func (p *Pool[P]) live() int {
	n := 0
	for _, m := range p.pods {
		if m.state != leaving {
			n++
		}
	}
	return n
}

// grow adds as many starting pods as are wanted and allowed, in the first free slots, which it returns.
func (p *Pool[P]) grow(wanted int) []int {
	var slots []int
	for n := min(wanted, p.config.MaxPods-p.live()); n > 0; n-- {
		slots = append(slots, p.add(p.freeSlot()).slot)
	}
	return slots
}

// freeSlot returns the first slot that no pod holds, nor has held until a moment ago.
func (p *Pool[P]) freeSlot() int {
	for slot, since := range p.freed {
		if time.Since(since) > cooling {
			delete(p.freed, slot)
		}
	}
	for slot := 1; ; slot++ {
		_, cools := p.freed[slot]
		if _, held := p.search(slot); !held && !cools {
			return slot
		}
	}
}

// stuck returns the problem of the last pod, where there are pods, and all are starting and have one.
func (p *Pool[P]) stuck() error {
	var problem error
	for _, m := range p.pods {
		switch {
		case m.state == leaving:
		case m.state == starting && m.problem != nil:
			problem = m.problem
		default:
			return nil
		}
	}
	return problem
}

// find returns the pod in a slot; nil where there is none.
func (p *Pool[P]) find(slot int) *pod[P] {
	if i, ok := p.search(slot); ok {
		return p.pods[i]
	}
	return nil
}

func (p *Pool[P]) add(slot int) *pod[P] {
	i, _ := p.search(slot)
	m := &pod[P]{slot: slot}
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
