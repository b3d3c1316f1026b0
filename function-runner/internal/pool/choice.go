// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"math"
	"time"
)

// halfLife is how long it takes until half of a reported load is thought to have ended.
const halfLife = time.Second

// take returns a place in the best pod; nil where all have as many calls from here as may be. A wait ends with a call or a pod
// from here, so that what others do only decides which pod is best.
func (p *Pool[P]) take() *Place[P] {
	m := p.firstFree()
	if m == nil {
		m = p.leastLoaded()
	}
	if m == nil {
		return nil
	}
	m.running++
	return &Place[P]{Endpoint: m.endpoint, Slot: m.slot, pool: p, pod: m}
}

// firstFree returns the first pod that has less to do than makes another pod wanted, so that those behind it fall idle.
func (p *Pool[P]) firstFree() *pod[P] {
	limit := min(p.config.Waitlist, p.config.PerPod)
	for _, m := range p.pods {
		if m.state == ready && m.load() < limit {
			return m
		}
	}
	return nil
}

// leastLoaded returns the pod with the least to do of those that have a place.
func (p *Pool[P]) leastLoaded() *pod[P] {
	var least *pod[P]
	lowest := math.MaxInt
	for i := range p.pods {
		m := p.pods[(i+p.rotation)%len(p.pods)]
		if m.state != ready || m.running >= p.config.PerPod {
			continue
		}
		if load := m.load(); load < lowest {
			least, lowest = m, load
		}
	}
	return least
}

// Report says how many calls run and wait in the pod as its wrapper server tells, of all callers and with this one, until it is
// released. What is not from here is taken into account when pods are chosen and wanted, for a few seconds. It may be called any
// number of times, and at any moment.
func (place *Place[P]) Report(load int) {
	p, m := place.pool, place.pod
	p.mu.Lock()
	defer p.mu.Unlock()
	m.others, m.reported = float64(max(0, load-m.running)), time.Now()
}

// load returns how many calls a pod has, as far as is known: those from here, and those of others, fewer by and by since nothing
// was heard of them.
func (m *pod[P]) load() int {
	if m.others == 0 {
		return m.running
	}
	others := m.others * math.Exp2(-float64(time.Since(m.reported))/float64(halfLife))
	if others < 0.5 {
		m.others = 0
		return m.running
	}
	return m.running + int(math.Round(others))
}

// wanted returns how many more pods a call that comes now wants: one, if all ready pods have enough to do, and so will those
// that are starting, with the calls that wait. One that was given up comes back sooner than those.
func (p *Pool[P]) wanted() int {
	if p.firstFree() != nil || p.count(givenUp) == 0 && p.waiting.Len() < p.room() {
		return 0
	}
	return 1
}

// missing returns how many more pods there should be, whoever calls.
func (p *Pool[P]) missing() int { return max(p.config.MinPods-p.live(), p.waitedFor()) }

// waitedFor returns how many more pods the calls need that wait.
func (p *Pool[P]) waitedFor() int {
	return (p.waiting.Len() - p.room() + p.config.Waitlist - 1) / p.config.Waitlist
}

// room returns how many more calls the pods that are ready and starting get before others are wanted.
func (p *Pool[P]) room() int {
	room := 0
	for _, m := range p.pods {
		if m.state == ready || m.state == starting {
			room += m.room(p.config.Waitlist)
		}
	}
	return room
}

// room returns how many more calls a pod gets.
func (m *pod[P]) room(waitlist int) int { return max(0, waitlist-m.load()) }

// live returns how many pods count towards the maximum.
func (p *Pool[P]) live() int { return p.count(starting) + p.count(ready) }

func (p *Pool[P]) count(s state) int {
	n := 0
	for _, m := range p.pods {
		if m.state == s {
			n++
		}
	}
	return n
}
