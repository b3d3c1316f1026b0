// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"slices"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

// Idle is a ready pod without calls.
type Idle struct {
	Pod *Pod
	// Since is when it was last used, or became ready.
	Since time.Time
}

// Idle returns the pods that have been idle for longer than the TTL, the highest ordinals first, as long as the minimum remains. Of
// pods above the maximum, which exist when a lost one comes back, it returns those that are idle at the moment. It changes nothing:
// Expire does. noted returns when another replica has noted a use of a pod; it must not call the pool.
func (p *Pool) Idle(noted func(*Pod) time.Time) []Idle {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle(p.config.TTL, noted)
}

// Spare is Idle for pods that can be preempted: it does not matter how long they have been idle.
func (p *Pool) Spare(noted func(*Pod) time.Time) []Idle {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle(0, noted)
}

func (p *Pool) idle(ttl time.Duration, noted func(*Pod) time.Time) []Idle {
	var found []Idle
	now, surplus := time.Now(), p.live()-p.config.MinPods
	for _, pod := range slices.Backward(p.pods) {
		if len(found) >= surplus {
			break
		}
		if !pod.callable() || pod.load() > 0 {
			continue
		}
		since := pod.used
		if others := noted(pod); others.After(since) {
			since = others
		}
		if len(found) < p.live()-p.config.MaxPods || !since.After(now.Add(-ttl)) {
			pod.offered = now
			found = append(found, Idle{Pod: pod, Since: since})
		}
	}
	return found
}

// Expire applies lifecycle.Expired to a pod that Idle or Spare has returned, right before the request that deletes it, and reports
// whether to send it: not if the pod has been used since, or belongs to the minimum. A call that needs the pod before the request is
// answered takes it back.
func (p *Pool) Expire(pod *Pod) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !pod.callable() || pod.load() > 0 || pod.used.After(pod.offered) || p.live() <= p.config.MinPods {
		return false
	}
	return p.apply(pod, lifecycle.Expired, nil)
}

// Use is how this replica uses a ready pod.
type Use struct {
	Pod *Pod
	// Running is the number of its calls.
	Running int
	// Last is when a call last ended, now while any runs, and zero before the first.
	Last time.Time
}

// Uses returns how the ready pods are used, by ordinal.
func (p *Pool) Uses() []Use {
	p.mu.Lock()
	defer p.mu.Unlock()
	var uses []Use
	for _, pod := range p.pods {
		if !pod.callable() {
			continue
		}
		use := Use{Pod: pod, Running: pod.running, Last: pod.called}
		if pod.running > 0 {
			use.Last = time.Now()
		}
		uses = append(uses, use)
	}
	return uses
}
