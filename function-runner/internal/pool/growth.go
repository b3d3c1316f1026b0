// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

// cooling is the time for which the ordinal of a removed pod is blocked. Another replica may learn of the removal later and use the next
// ordinal meanwhile. Two pods would be created instead of one.
const cooling = 5 * time.Second

// extraPods is the maximum number of pods beyond twice MaxPods, in any state. It limits the number of pods if the API server or a node
// does not delete pods.
const extraPods = 2

// wanted returns the number of pods that a new call requests: one if every ready pod is saturated, and the calls in the queue will
// saturate every starting pod. If there is an expiring pod, it also returns one, because an expiring pod can be recalled faster than a
// starting pod becomes ready.
func (p *Pool) wanted() int {
	if p.firstFree() != nil || p.count(isExpiring) == 0 && p.queue.Len() < p.slack() {
		return 0
	}
	return 1
}

// missing returns the number of further pods that the minimum and the waiting calls need.
func (p *Pool) missing() int { return max(p.config.MinPods-p.live(), p.waitedFor()) }

// waitedFor returns the number of further pods that the waiting calls need.
func (p *Pool) waitedFor() int {
	return (p.queue.Len() - p.slack() + p.config.Waitlist - 1) / p.config.Waitlist
}

// slack returns the number of further calls that the live pods can take before the pool requests another pod.
func (p *Pool) slack() int {
	slack := 0
	for _, pod := range p.pods {
		if pod.live() {
			slack += p.slackOf(pod)
		}
	}
	return slack
}

func (p *Pool) slackOf(pod *Pod) int {
	slack := max(0, p.config.Waitlist-pod.load())
	if pod.pause > 0 {
		return min(slack, p.room(pod))
	}
	return slack
}

func isExpiring(pod *Pod) bool { return pod.is(lifecycle.Expiring) }

// grow adds the needed pods, within the limits. It first recalls expiring pods, and then requests new pods with the lowest free ordinals.
func (p *Pool) grow(needed int) {
	needed = min(needed, p.config.MaxPods-p.live())
	needed -= p.recall(needed)
	for range min(needed, p.mayRequest()) {
		pod := p.add(p.freeOrdinal())
		p.requested = append(p.requested, pod)
	}
}

// recall makes at most n expiring pods ready again, and returns their number. If the API server has already deleted such a pod, its
// wrapper server sends the calls back.
func (p *Pool) recall(n int) int {
	found := 0
	for _, pod := range p.pods {
		if found < n && isExpiring(pod) {
			p.apply(pod, lifecycle.Kept, nil)
			found++
		}
	}
	return found
}

// settle replaces a lost pod. If no call can succeed, it rejects the waiting calls.
func (p *Pool) settle(needed int) {
	p.grow(needed)
	if err := p.exhausted(); err != nil {
		p.reject(err)
	}
}

// exhausted returns why no pod will take a call, or nil if one may: all starting pods have a problem, the backoff lasts, or too many pods
// are not deleted.
func (p *Pool) exhausted() error {
	var problem error
	for _, pod := range p.pods {
		if pod.callable() || pod.pending() && pod.problem == nil {
			return nil
		}
		if pod.pending() {
			problem = pod.problem
		}
	}
	switch {
	case problem != nil:
		return problem
	case p.failure.lasts():
		return &BackoffError{Err: p.failure.reason, Until: p.failure.until}
	case p.atCapacity():
		return &UndeletedError{Pods: len(p.pods)}
	}
	return nil
}

// UndeletedError reports that the pool creates no pod because too many deleted pods still exist. The call was not sent and can be
// retried.
type UndeletedError struct {
	// Pods is the number of pods that exist.
	Pods int
}

func (e *UndeletedError) Error() string {
	return fmt.Sprintf("%d function pods are given up and still exist, no other is created: check why they are not deleted", e.Pods)
}

// atCapacity reports whether the pool must not create a pod before another one is removed.
func (p *Pool) atCapacity() bool { return len(p.pods) >= 2*p.config.MaxPods+extraPods }

// freeOrdinal returns the lowest ordinal that is neither used nor blocked.
func (p *Pool) freeOrdinal() int {
	for ordinal, until := range p.blocked {
		if !time.Now().Before(until) {
			delete(p.blocked, ordinal)
		}
	}
	for ordinal := 1; ; ordinal++ {
		_, blocked := p.blocked[ordinal]
		if _, held := p.search(ordinal); !held && !blocked {
			return ordinal
		}
	}
}

// block blocks an ordinal for d.
func (p *Pool) block(ordinal int, d time.Duration) { p.blocked[ordinal] = time.Now().Add(d) }
