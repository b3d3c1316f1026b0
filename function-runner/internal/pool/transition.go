// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

// Apply applies an event to a pod, does what follows for the calls, and reports whether the state has changed:
//
//   - A pod that becomes ready gets the calls that have waited longest, and ends a backoff if it was never ready before.
//   - A pod that is lost or deleted is replaced if calls wait for it, and for the minimum if it was ever ready.
//   - A pod that breaks before it was ever ready lets the pool back off: no pod is requested for 1 s, after each further failure for
//     twice as long up to 30 s, and then one at a time until one is ready. The waiting calls get the reason if no other pod is left.
//     A reason with a method Retry() bool that returns true causes no backoff: the next pod need not fail as well.
func (p *Pool) Apply(pod *Pod, event lifecycle.Event, reason error) bool {
	p.mu.Lock()
	defer p.unlock()
	return p.apply(pod, event, reason)
}

// Answered says that the pod's wrapper server serves at an endpoint, and reports whether that has changed the state. A pod that was
// ready before gets its calls at this endpoint from now on.
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
		// While one pod was tried, the waiting calls got no other.
		p.grow(p.missing())
	}
}

// replacement returns how many pods are needed after one was lost. For a pod that was never ready, the minimum waits for Fill: pods
// that fail as soon as they start would be created in a loop.
func (p *Pool) replacement(pod *Pod) int {
	if pod.status.Served {
		return p.missing()
	}
	return p.waitedFor()
}

// SetProblem says why a pod that is requested or starting may never become ready; nil says that it may. While the pool has only such
// pods, calls get that error at once.
func (p *Pool) SetProblem(pod *Pod, problem error) {
	p.mu.Lock()
	defer p.unlock()
	if !p.has(pod) || !pod.pending() || pod.problem == nil && problem == nil {
		return
	}
	pod.problem = problem
	p.settle(0)
}

// Abandon removes a requested pod that cannot be created. The pool backs off as after a pod that breaks.
func (p *Pool) Abandon(pod *Pod, reason error) {
	p.mu.Lock()
	defer p.unlock()
	if p.has(pod) && pod.is(lifecycle.Requested) {
		p.remove(pod)
		p.hasFailed(pod, reason)
	}
}

// Withdraw removes a requested pod that nobody needs any more, and reports whether it did. It is called before a pod is created that
// had to wait for that. A pod above the maximum is not needed. While no call waits, neither is a pod of a superseded pool, nor one
// beyond the minimum if another pod has room.
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

// Remove says that the pod does not exist any more. Its waiting calls go on waiting, for a new pod if need be.
func (p *Pool) Remove(pod *Pod) {
	p.mu.Lock()
	defer p.unlock()
	if !p.has(pod) {
		return
	}
	// Its running calls find out for themselves. They give their leases back to a pod that is in no pool.
	p.remove(pod)
	p.block(pod.Ordinal, cooling)
	p.settle(p.replacement(pod))
}

// Avoid removes a pod whose name somebody else's pod has, and uses the ordinal for no other pod for d. A requested pod gets another
// ordinal at once.
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
