// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/internal/cluster/podstatus"
)

const (
	// slowStart is the time since its creation after which the manager logs the status of a pod that is not ready, and krmfn top shows
	// it. If a registry hangs, the pod's status shows only a container that is not created.
	slowStart = 10 * time.Second
	// discardSpread is the longest delay before a replica deletes a failed pod that another replica has requested. All replicas give the
	// pod up at the same moment, and one request is enough.
	discardSpread = 5 * time.Second
	// suspectTimeout is the time that a suspect pod has to prove that it serves, before other pods replace it.
	suspectTimeout = time.Second
	// unreachableTimeout is the time after which the manager deletes an unreachable pod that the kubelet reports as unready.
	unreachableTimeout = 10 * time.Second
)

var (
	errUnready = errors.New("the kubelet reports it as unready")
	errMoved   = errors.New("its address has changed")
)

// apply applies an event to a pod, handles its new state, and reports whether the state has changed.
func (w *workload) apply(mem *member, event lifecycle.Event, reason error) bool {
	if w.members[mem.Ordinal] != mem || !w.Apply(mem.Pod, event, reason) {
		return false
	}
	w.entered(mem, event, reason)
	return true
}

// answered records that a pod's wrapper server serves at an endpoint, and reports whether the pod is ready for the first time.
func (w *workload) answered(mem *member, e *endpoint.Endpoint) (first bool) {
	status, _ := mem.Status()
	return w.Answered(mem.Pod, e) && !status.Served
}

// entered handles a pod's new state.
func (w *workload) entered(mem *member, event lifecycle.Event, reason error) {
	status, _ := mem.Status()
	log := w.m.config.Log.With("pod", mem.name(), "image", w.ID.Image)
	switch status.State {
	case lifecycle.Starting:
		if event == lifecycle.Suspected {
			mem.after(suspectTimeout, func() { w.apply(mem, lifecycle.Lost, reason) })
		} else {
			mem.after(slowStart, func() { log.Warn("function pod is slow to start, check its events", "status", mem.explain()) })
			mem.after(w.m.config.ReadyTimeout, func() { w.broken(mem, "not-ready", notReady(mem.object, w.m.config.ReadyTimeout)) })
		}
	case lifecycle.Unreachable:
		log.Warn("function pod does not answer any more", "err", reason)
		w.m.event(mem, "Unreachable", reason)
		w.limitUnreachable(mem)
	case lifecycle.Leaving:
		mem.disconnect()
	case lifecycle.Failed:
		mem.disconnect()
		log.Warn("function pod failed", "err", reason)
		if status.Served {
			w.m.event(mem, "Failed", reason)
		} else {
			w.m.event(mem, "BackOff", fmt.Errorf("back-off creating function pods of %s: %w", w.ID.Image, reason))
		}
	}
}

// event records a Kubernetes event for a pod.
func (m *Manager) event(mem *member, reason string, err error) {
	if m.config.Events != nil {
		m.config.Events.Event(mem.object, corev1.EventTypeWarning, reason, err.Error())
	}
}

// limitUnreachable limits how long an unreachable pod may exist. The limit is shorter if the kubelet also reports the pod as unready.
func (w *workload) limitUnreachable(mem *member) {
	limit := w.m.config.ReadyTimeout
	if !podstatus.Ready(mem.object) {
		limit = min(limit, unreachableTimeout)
	}
	status, _ := mem.Status()
	err := fmt.Errorf("function pod %s has not answered for %v: %w", mem.name(), limit, status.Reason)
	mem.after(limit-time.Since(status.Since), func() { w.broken(mem, "unreachable", err) })
}

// broken marks a pod that does not become ready, or has ended, as failed, and deletes it.
func (w *workload) broken(mem *member, reason string, err error) {
	if mem.In(lifecycle.Expiring, lifecycle.Leaving, lifecycle.Failed) {
		return
	}
	if err = w.replaced(mem, reason, err); w.apply(mem, lifecycle.Broken, err) {
		_, changed := mem.Status()
		w.m.spawn(func() {
			if !mem.requested {
				select {
				case <-changed:
				case <-w.m.life.Done():
				case <-time.After(rand.N(discardSpread)): //nolint:gosec // G404: chance, not a secret
				}
			}
			w.m.discard(w.m.life, mem, reason)
		})
	}
}

// notReady returns the error for a pod that takes too long to get ready.
func notReady(pod *corev1.Pod, timeout time.Duration) error {
	_, problem := podstatus.Of(pod)
	if problem != nil {
		return fmt.Errorf("the pod ready timeout of %v (--pod-ready-timeout) is over: %w", timeout, notStarted(pod, problem))
	}
	return fmt.Errorf("function pod %s is not ready within the pod ready timeout of %v (--pod-ready-timeout): it %s", pod.Name, timeout, podstatus.Progress(pod))
}
