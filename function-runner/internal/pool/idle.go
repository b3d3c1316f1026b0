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
	// Since is when the pod was last used, or became ready.
	Since time.Time
}

// Idle returns the pods that have been idle for longer than the TTL, the highest ordinals first, without those that the minimum needs.
// Pods above the maximum, which exist after a lost pod has come back, need not reach the TTL. Idle does not change the pods; see Expire.
// noted returns the last use that another replica has recorded, and must not call the pool.
func (p *Pool) Idle(noted func(*Pod) time.Time) []Idle {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle(p.config.TTL, noted)
}

// Spare is like Idle for preemption: it ignores the TTL.
func (p *Pool) Spare(noted func(*Pod) time.Time) []Idle {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle(0, noted)
}

func (p *Pool) idle(ttl time.Duration, noted func(*Pod) time.Time) []Idle {
	if p.queue.Len() > 0 {
		// A ready pod without calls of this replica is busy with calls of other replicas.
		return nil
	}
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

// Expire applies lifecycle.Expired to a pod from Idle or Spare. Call it immediately before the delete request, and send the request only
// if Expire returns true: the pod may have been used since, or the minimum or waiting calls may need it. A call that needs the pod before the response
// arrives takes the pod back.
func (p *Pool) Expire(pod *Pod) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !pod.callable() || pod.load() > 0 || pod.used.After(pod.offered) || p.live() <= p.config.MinPods || p.queue.Len() > 0 {
		return false
	}
	return p.apply(pod, lifecycle.Expired, nil)
}

// Use is this replica's use of a ready pod.
type Use struct {
	Pod *Pod
	// Running is the number of this replica's calls.
	Running int
	// Last is when a call last ended. It is the current time while a call runs, and zero before the first call.
	Last time.Time
}

// Uses returns the uses of the ready pods, by ordinal.
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
