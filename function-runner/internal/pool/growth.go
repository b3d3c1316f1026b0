// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

// cooling is how long the ordinal of a pod that has gone is not used again. Another replica may learn of the end later, and would use
// the next ordinal meanwhile: two pods would be created instead of one.
const cooling = 5 * time.Second

// extraPods is how many pods beyond twice the maximum may exist, live or not. Pods that cannot be deleted must not grow in number.
const extraPods = 2

// wanted returns how many pods a new call requests: one, if every ready pod has enough to do and every starting pod will have, with the
// calls in the queue. A pod that is expiring is back sooner than one that is starting.
func (p *Pool) wanted() int {
	if p.firstFree() != nil || p.count(isExpiring) == 0 && p.queue.Len() < p.slack() {
		return 0
	}
	return 1
}

// missing returns how many more pods the minimum and the waiting calls need.
func (p *Pool) missing() int { return max(p.config.MinPods-p.live(), p.waitedFor()) }

// waitedFor returns how many more pods the waiting calls need.
func (p *Pool) waitedFor() int {
	return (p.queue.Len() - p.slack() + p.config.Waitlist - 1) / p.config.Waitlist
}

// slack returns how many more calls the live pods can have before others are requested.
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

// grow gets as many pods as are needed and allowed: expiring pods first, then new pods with the first free ordinals.
func (p *Pool) grow(needed int) {
	needed = min(needed, p.config.MaxPods-p.live())
	needed -= p.recall(needed)
	for range min(needed, p.mayRequest()) {
		pod := p.add(p.freeOrdinal())
		p.requested = append(p.requested, pod)
	}
}

// recall makes at most n expiring pods ready again, and returns how many. The request to delete them may be faster. Their wrapper
// servers then send the calls back.
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

// settle gets the pods that are needed after one was lost. If no call can be answered, the waiting calls get to know why.
func (p *Pool) settle(needed int) {
	p.grow(needed)
	if err := p.exhausted(); err != nil {
		p.reject(err)
	}
}

// exhausted returns why no pod will take a call: all pods that start have a problem, or no pod may be requested yet. Otherwise it
// returns nil.
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

// UndeletedError reports that so many pods of the function are being deleted, and do not go, that no other is created. The call was
// not sent and can be retried.
type UndeletedError struct {
	// Pods is the number of pods that exist.
	Pods int
}

func (e *UndeletedError) Error() string {
	return fmt.Sprintf("%d function pods are given up and still exist, no other is created: check why they are not deleted", e.Pods)
}

// atCapacity reports whether no pod may be created before another has gone.
func (p *Pool) atCapacity() bool { return len(p.pods) >= 2*p.config.MaxPods+extraPods }

// freeOrdinal returns the first ordinal that no pod has and that is not blocked.
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

// block keeps an ordinal unused for d.
func (p *Pool) block(ordinal int, d time.Duration) { p.blocked[ordinal] = time.Now().Add(d) }
