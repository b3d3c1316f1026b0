// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"slices"
	"time"
)

// Idle is a ready pod without calls.
type Idle struct {
	// Slot is the pod's.
	Slot int
	// Since is when it was last used, or became ready.
	Since time.Time
}

// Idle returns the pods that have been idle for longer than the TTL, the last slots first, as many as there are above the minimum.
// Of pods above the maximum, which there are when one that was lost comes back, it returns those that are idle at the moment.
// It changes nothing: each is given up by GiveUp. used tells when others have used the pod in a slot, which may be later than what
// is known here; it must not call the pool.
func (p *Pool[P]) Idle(used func(slot int) time.Time) []Idle {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle(p.config.TTL, used)
}

// Spare returns what Idle does, for however short a time the pods have been idle: those that can make room for others.
func (p *Pool[P]) Spare(used func(slot int) time.Time) []Idle {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle(0, used)
}

func (p *Pool[P]) idle(ttl time.Duration, used func(slot int) time.Time) []Idle {
	var found []Idle
	now, surplus := time.Now(), p.live()-p.config.MinPods
	for _, m := range slices.Backward(p.pods) {
		if len(found) >= surplus {
			break
		}
		if m.state != ready || m.load() > 0 {
			continue
		}
		since := m.used
		if others := used(m.slot); others.After(since) {
			since = others
		}
		if len(found) < p.live()-p.config.MaxPods || !since.After(now.Add(-ttl)) {
			m.named = now
			found = append(found, Idle{Slot: m.slot, Since: since})
		}
	}
	return found
}

// GiveUp is called right before the request that deletes a pod which Idle or Spare has named, and tells whether to send it: not if
// the pod has been used since, or is not above the minimum any more. A pod that was given up gets no calls and does not count. If
// calls want a pod before Leaving or Gone says that the request was faster, it is wanted back.
func (p *Pool[P]) GiveUp(slot int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.find(slot)
	if m == nil || m.state != ready || m.load() > 0 || m.used.After(m.named) || p.live() <= p.config.MinPods {
		return false
	}
	m.become(givenUp)
	return true
}

// Keep takes GiveUp back for a pod that was not deleted: somebody has used it, the request failed or was called off because the pod
// is wanted back. It takes calls again, and counts as used just now.
func (p *Pool[P]) Keep(slot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.find(slot); m != nil && (m.state == givenUp || m.recalled) {
		m.become(ready)
		m.used = time.Now()
		p.dispatch()
	}
}
