// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"math"
	"slices"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

// Pod is a function pod as this replica sees it.
type Pod struct {
	// Ordinal is the pod's number in its pool, from 1. It is part of the pod's name.
	Ordinal int

	pool *Pool

	// The pool's lock guards the following fields.

	status lifecycle.Pod
	// changed is closed when the state changes or the pod is removed. It is nil while no caller of Status waits.
	changed chan struct{}
	// endpoint is the endpoint at which the wrapper server last served.
	endpoint *endpoint.Endpoint
	// problem is why a requested or starting pod may never become ready.
	problem error
	// running is the number of this replica's calls.
	running int
	capacity
	// external is the number of calls of other replicas in the latest report of the wrapper server; see load.
	external float64
	reported time.Time
	// created is when the pod was requested or first seen. ready is when it last became ready.
	created, ready time.Time
	// used is when a call last ended or the pod became ready. called is when a call last ended. offered is when Idle or Spare last
	// returned the pod.
	used, called, offered time.Time
}

// Status returns the pod's state, and a channel that is closed when the state changes or the pod is removed from its pool. Work that
// belongs to the state must stop when the channel is closed.
func (pod *Pod) Status() (lifecycle.Pod, <-chan struct{}) {
	pod.pool.mu.Lock()
	defer pod.pool.mu.Unlock()
	if pod.changed == nil {
		pod.changed = make(chan struct{})
	}
	return pod.status, pod.changed
}

// State returns the pod's state.
func (pod *Pod) State() lifecycle.State {
	pod.pool.mu.Lock()
	defer pod.pool.mu.Unlock()
	return pod.status.State
}

// In reports whether the pod is in one of the states.
func (pod *Pod) In(states ...lifecycle.State) bool { return slices.Contains(states, pod.State()) }

// Problem returns why the pod may never become ready, or nil if no problem is known.
func (pod *Pod) Problem() error {
	pod.pool.mu.Lock()
	defer pod.pool.mu.Unlock()
	return pod.problem
}

// Suspect reports that the pod may no longer serve. The pod must then prove that it serves.
func (pod *Pod) Suspect(reason error) {
	pod.pool.mu.Lock()
	e := pod.endpoint
	pod.pool.mu.Unlock()
	if e != nil {
		e.Suspect(reason)
	}
}

func (pod *Pod) is(states ...lifecycle.State) bool { return pod.status.In(states...) }

// callable reports whether the pod takes calls.
func (pod *Pod) callable() bool { return pod.is(lifecycle.Ready) }

// pending reports whether the pod counts towards the maximum but does not run calls yet.
func (pod *Pod) pending() bool { return pod.is(lifecycle.Requested, lifecycle.Starting) }

// live reports whether the pod counts towards the maximum.
func (pod *Pod) live() bool { return pod.callable() || pod.pending() }

// halfLife is the half-life of the estimate of other replicas' calls.
const halfLife = time.Second

// load returns the number of calls in the pod: the calls of this replica, and an estimate of the calls of other replicas, which decays
// after their latest report.
func (pod *Pod) load() int {
	if pod.external == 0 {
		return pod.running
	}
	external := pod.external * math.Exp2(-float64(time.Since(pod.reported))/float64(halfLife))
	if external < 0.5 {
		pod.external = 0
		return pod.running
	}
	return pod.running + int(math.Round(external))
}

// notify closes the channel that Status has returned.
func (pod *Pod) notify() {
	if pod.changed != nil {
		close(pod.changed)
		pod.changed = nil
	}
}

// closed is the channel of removed pods.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Adopt returns the pod with an ordinal. If there is none, it adds a pod in state lifecycle.Requested, which another replica has
// requested.
func (p *Pool) Adopt(ordinal int) *Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i, found := p.search(ordinal); found {
		return p.pods[i]
	}
	return p.add(ordinal)
}

// add adds a pod in state lifecycle.Requested.
func (p *Pool) add(ordinal int) *Pod {
	i, _ := p.search(ordinal)
	now := time.Now()
	pod := &Pod{Ordinal: ordinal, pool: p, created: now, status: lifecycle.Pod{State: lifecycle.Requested, Since: now}}
	p.pods = slices.Insert(p.pods, i, pod)
	return pod
}

// Has reports whether the pod is still in the pool.
func (p *Pool) Has(pod *Pod) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.has(pod)
}

func (p *Pool) has(pod *Pod) bool {
	i, found := p.search(pod.Ordinal)
	return found && p.pods[i] == pod
}

func (p *Pool) remove(pod *Pod) {
	if i, found := p.search(pod.Ordinal); found && p.pods[i] == pod {
		p.pods = slices.Delete(p.pods, i, i+1)
		pod.notify()
		pod.changed = closed
	}
}

func (p *Pool) search(ordinal int) (int, bool) {
	return slices.BinarySearchFunc(p.pods, ordinal, func(pod *Pod, ordinal int) int { return pod.Ordinal - ordinal })
}

// count returns the number of pods that satisfy a condition.
func (p *Pool) count(holds func(*Pod) bool) int {
	n := 0
	for _, pod := range p.pods {
		if holds(pod) {
			n++
		}
	}
	return n
}

// live returns the number of pods that count towards the maximum.
func (p *Pool) live() int { return p.count((*Pod).live) }
