// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"cmp"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

// Stats are the sizes of a pool at one moment.
type Stats struct {
	// Starting, Ready, Unreachable and Leaving are numbers of pods. Starting includes requested pods, and Leaving includes expiring and
	// failed pods.
	Starting, Ready, Unreachable, Leaving int
	// Running and Waiting are numbers of this replica's calls.
	Running, Waiting int
	// BackingOff reports that pods have failed and that the backoff has not ended.
	BackingOff bool
	// LastFailure is why pods failed to start, or may never become ready. It is nil after a pod has started.
	LastFailure error
}

// Plus returns the sum of the sizes of two pools.
func (s Stats) Plus(other Stats) Stats {
	return Stats{
		Starting: s.Starting + other.Starting, Ready: s.Ready + other.Ready, Unreachable: s.Unreachable + other.Unreachable,
		Leaving: s.Leaving + other.Leaving, Running: s.Running + other.Running, Waiting: s.Waiting + other.Waiting,
		BackingOff: s.BackingOff || other.BackingOff, LastFailure: cmp.Or(s.LastFailure, other.LastFailure),
	}
}

// Stats returns the current sizes.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{Waiting: p.queue.Len(), BackingOff: p.failure.lasts(), LastFailure: p.failure.reason}
	for _, pod := range p.pods {
		s.Running += pod.running
		switch {
		case pod.pending():
			s.Starting++
			s.LastFailure = cmp.Or(s.LastFailure, pod.problem)
		case pod.callable():
			s.Ready++
		case pod.is(lifecycle.Unreachable):
			s.Unreachable++
		default:
			s.Leaving++
		}
	}
	return s
}

// IsUnused reports whether the pool can be forgotten: it has no pods, calls or references, and no backoff.
func (p *Pool) IsUnused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pods) == 0 && p.queue.Len() == 0 && !p.failure.lasts() && p.refs.Load() == 0
}

// Median returns the median duration of recent successful calls, or 0 before the first call.
func (p *Pool) Median() time.Duration { return p.latencies.median() }
