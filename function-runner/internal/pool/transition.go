// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

// Apply applies an event to a pod, updates the waiting calls and the pool, and reports whether the state has changed:
//
//   - A pod that becomes ready gets the calls that have waited longest. If it was never ready before, it ends a backoff.
//   - A pod that is lost or deleted is replaced if calls wait, and for the minimum if it was ready before.
//   - A pod that fails before it was ready starts a backoff of 1 s, which doubles with each further failure up to 30 s. After the
//     backoff, the pool requests one pod at a time until a pod is ready. The waiting calls get the reason if no live pod is left. A
//     reason with a method Retry() bool that returns true causes no backoff, because the next pod may start.
func (p *Pool) Apply(pod *Pod, event lifecycle.Event, reason error) bool {
	p.mu.Lock()
	defer p.unlock()
	return p.apply(pod, event, reason)
}

// Answered records that the pod's wrapper server serves at an endpoint, and reports whether the state has changed. New calls of the pod
// use this endpoint, even if the state has not changed.
func (p *Pool) Answered(pod *Pod, e *endpoint.Endpoint) bool {
	p.mu.Lock()
	defer p.unlock()
	pod.endpoint = e
	return p.apply(pod, lifecycle.Answered, nil)
}

func (p *Pool) apply(pod *Pod, event lifecycle.Event, reason error) bool {
	first := !pod.status.Served
	if !p.has(pod) || !pod.status.Apply(event, reason) {
		return false
	}
	pod.problem = nil
	pod.notify()
	switch pod.status.State {
	case lifecycle.Ready:
		p.isReady(pod, event, first)
	case lifecycle.Unreachable, lifecycle.Leaving:
		p.settle(p.replacement(pod))
	case lifecycle.Failed:
		p.hasFailed(pod, reason)
	}
	return true
}

func (p *Pool) isReady(pod *Pod, event lifecycle.Event, first bool) {
	pod.used = time.Now()
	if event == lifecycle.Answered {
		pod.ready = pod.used
	}
	p.dispatch()
	if first && p.failure.pause > 0 {
		p.failure = failure{}
		// During the backoff, the pool has requested only one pod for the waiting calls.
		p.grow(p.missing())
	}
}

// replacement returns the number of pods to request after a pod was lost. If the pod was never ready, it ignores the minimum, which Fill
// restores later. Otherwise pods that fail immediately would be created in a loop.
func (p *Pool) replacement(pod *Pod) int {
	if pod.status.Served {
		return p.missing()
	}
	return p.waitedFor()
}

// SetProblem sets why a requested or starting pod may never become ready. Nil clears the problem. While all live pods have problems,
// calls fail at once with a problem.
func (p *Pool) SetProblem(pod *Pod, problem error) {
	p.mu.Lock()
	defer p.unlock()
	if !p.has(pod) || !pod.pending() || pod.problem == nil && problem == nil {
		return
	}
	pod.problem = problem
	p.settle(0)
}

// Abandon removes a requested pod that cannot be created. The pool backs off like after a failed pod.
func (p *Pool) Abandon(pod *Pod, reason error) {
	p.mu.Lock()
	defer p.unlock()
	if p.has(pod) && pod.is(lifecycle.Requested) {
		p.remove(pod)
		p.hasFailed(pod, reason)
	}
}

// Withdraw removes a requested pod that is no longer needed, and reports whether it did. Call it before the creation of a pod that had to
// wait. A pod above the maximum is not needed. If no call waits, a pod of a superseded pool is not needed, and neither is a pod beyond
// the minimum if another pod has capacity.
func (p *Pool) Withdraw(pod *Pod, superseded bool) bool {
	p.mu.Lock()
	defer p.unlock()
	if !p.has(pod) || !pod.is(lifecycle.Requested) || !p.isNeedless(pod, superseded) {
		return false
	}
	p.remove(pod)
	p.settle(0)
	return true
}

func (p *Pool) isNeedless(pod *Pod, superseded bool) bool {
	switch {
	case p.live() > p.config.MaxPods:
		return true
	case p.queue.Len() > 0:
		return false
	}
	return superseded || p.live() > p.config.MinPods && p.slack() > p.slackOf(pod)
}

// Remove removes a pod that no longer exists. The waiting calls keep waiting, and the pool requests a new pod for them if needed.
func (p *Pool) Remove(pod *Pod) {
	p.mu.Lock()
	defer p.unlock()
	if !p.has(pod) {
		return
	}
	// The running calls of the pod fail on their own, and release their leases on the removed pod.
	p.remove(pod)
	p.block(pod.Ordinal, cooling)
	p.settle(p.replacement(pod))
}

// Avoid removes a pod whose name is taken by another owner's pod, and blocks the ordinal for d. If the pod was requested or starting, the
// pool requests one with another ordinal at once.
func (p *Pool) Avoid(pod *Pod, d time.Duration) {
	p.mu.Lock()
	defer p.unlock()
	p.block(pod.Ordinal, d)
	if !p.has(pod) {
		return
	}
	p.remove(pod)
	needed := p.missing()
	if pod.pending() {
		needed = max(1, needed)
	}
	p.settle(needed)
}
