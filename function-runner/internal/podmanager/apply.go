// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/services/cluster/podstatus"
)

const (
	// suspicion is how long a pod may take to show anew that it serves, before others take its place.
	suspicion = time.Second
	// unreachable is how long a pod may not answer that the kubelet holds for unready, too.
	unreachable = 10 * time.Second
)

// apply applies an event to a pod, does what follows from its new state, and tells whether that is another one. The pool learns of
// new states here, and nowhere else; the ends of pods it learns from forget, notMade and avoid. The manager's lock is held.
func (p *Pool) apply(mem *member, event lifecycle.Event, reason error) bool {
	if p.members[mem.slot] != mem || !mem.Apply(event, reason) {
		return false
	}
	mem.stop()
	log := p.m.config.Log.With("pod", mem.name(), "image", p.id.Image)
	switch mem.State {
	case lifecycle.Starting:
		if event == lifecycle.Suspected {
			mem.after(suspicion, func() { p.apply(mem, lifecycle.Lost, reason) })
		} else {
			mem.after(p.m.config.ReadyTimeout, func() { p.broken(mem, "not-ready", notReady(mem.object, p.m.config.ReadyTimeout)) })
		}
	case lifecycle.Unreachable:
		log.Warn("function pod does not answer any more", "err", reason)
		p.m.event(mem, "Unreachable", reason)
		p.limitUnreachable(mem)
	case lifecycle.Failed:
		log.Warn("function pod failed", "err", reason)
		if mem.Served {
			p.m.event(mem, "Failed", reason)
		} else {
			p.m.event(mem, "BackOff", fmt.Errorf("back-off making function pods of %s: %w", p.id.Image, reason))
		}
	}
	p.show(mem, event)
	return true
}

// event records a Kubernetes event of a pod.
func (m *Manager) event(mem *member, reason string, err error) {
	if m.config.Events != nil {
		m.config.Events.Event(mem.object, corev1.EventTypeWarning, reason, err.Error())
	}
}

// show tells the pool of a pod's state. The manager's lock is held.
func (p *Pool) show(mem *member, event lifecycle.Event) {
	switch mem.State {
	case lifecycle.Requested, lifecycle.Starting:
		p.pool.Starting(mem.slot)
	case lifecycle.Ready:
		if event == lifecycle.Kept {
			p.pool.Keep(mem.slot)
		} else {
			p.pool.Ready(mem.slot, mem.endpoint)
		}
	case lifecycle.Unreachable:
		p.pool.Unreachable(mem.slot)
	case lifecycle.Leaving:
		p.pool.Leaving(mem.slot)
	case lifecycle.Failed:
		if mem.Served {
			// It ran well once: the calls that wait may have another one.
			p.pool.Leaving(mem.slot)
		} else {
			p.pool.Failed(mem.slot, mem.Reason)
		}
	}
}

// limitUnreachable has an unreachable pod given up in time, sooner if the kubelet agrees. The manager's lock is held.
func (p *Pool) limitUnreachable(mem *member) {
	limit := p.m.config.ReadyTimeout
	if !podstatus.Ready(mem.object) {
		limit = min(limit, unreachable)
	}
	err := fmt.Errorf("function pod %s has not answered for %v: %w", mem.name(), limit, mem.Reason)
	mem.after(limit-time.Since(mem.Since), func() { p.broken(mem, "unreachable", err) })
}

// broken gives up a pod that does not get ready or has ended, and has it deleted. The manager's lock is held.
func (p *Pool) broken(mem *member, reason string, err error) {
	if mem.In(lifecycle.Expiring, lifecycle.Leaving, lifecycle.Failed) {
		return
	}
	if err = p.replaced(mem, reason, err); p.apply(mem, lifecycle.Broken, err) {
		p.m.spawn(func() { p.m.discard(p.m.life, mem, reason) })
	}
}

// notReady returns the error for a pod that takes too long.
func notReady(pod *corev1.Pod, timeout time.Duration) error {
	_, problem := podstatus.Of(pod)
	if problem != nil {
		return fmt.Errorf("the pod ready timeout of %v (--pod-ready-timeout) is over: %w", timeout, notStarted(pod, problem))
	}
	return fmt.Errorf("function pod %s is not ready within the pod ready timeout of %v (--pod-ready-timeout): it %s", pod.Name, timeout, podstatus.Progress(pod))
}
