// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"cmp"
	"time"
)

// Stats are the sizes of a pool at one moment.
type Stats struct {
	// Starting, Ready, Unreachable and Leaving are numbers of pods. Those that were given up are Leaving, and Starting when they
	// are wanted back.
	Starting, Ready, Unreachable, Leaving int
	// Running and Waiting are numbers of calls from here.
	Running, Waiting int
	// BackingOff says that pods have failed and that none may be wanted yet.
	BackingOff bool
	// LastFailure is why pods have failed to start; nil once one has started.
	LastFailure error
}

// Plus returns the sizes of two pools together.
func (s Stats) Plus(other Stats) Stats {
	return Stats{
		Starting: s.Starting + other.Starting, Ready: s.Ready + other.Ready, Unreachable: s.Unreachable + other.Unreachable,
		Leaving: s.Leaving + other.Leaving, Running: s.Running + other.Running, Waiting: s.Waiting + other.Waiting,
		BackingOff: s.BackingOff || other.BackingOff, LastFailure: cmp.Or(s.LastFailure, other.LastFailure),
	}
}

// Stats returns the sizes.
func (p *Pool[P]) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{Waiting: p.waiting.Len(), BackingOff: p.failure.lasts(), LastFailure: p.failure.reason}
	for _, m := range p.pods {
		s.Running += m.running
		switch m.state {
		case starting:
			s.Starting++
		case ready:
			s.Ready++
		case unreachable:
			s.Unreachable++
		case givenUp, leaving:
			s.Leaving++
		}
	}
	return s
}

// Use is how a ready pod is used from here.
type Use struct {
	// Slot is the pod's, and Running how many calls it runs.
	Slot, Running int
	// Last is when a call last ended, now while any runs, and zero before the first.
	Last time.Time
}

// Uses returns how the ready pods are used, by slot.
func (p *Pool[P]) Uses() []Use {
	p.mu.Lock()
	defer p.mu.Unlock()
	var uses []Use
	for _, m := range p.pods {
		if m.state != ready {
			continue
		}
		use := Use{Slot: m.slot, Running: m.running, Last: m.called}
		if m.running > 0 {
			use.Last = time.Now()
		}
		uses = append(uses, use)
	}
	return uses
}
