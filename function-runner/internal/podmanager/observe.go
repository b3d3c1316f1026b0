// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/services/cluster/client"
	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/cluster/podstatus"
	"github.com/krmfn/krmfn/services/server/logging"
)

// watch follows the function pods and looks after them until ctx ends.
func (m *Manager) watch(ctx context.Context) error {
	pods := client.NewInformer(m.config.Client.Pods, &corev1.Pod{}, functionpod.ImageLabel)
	handled, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { m.observed(o, m.observe) },
		UpdateFunc: func(_, o any) { m.observed(o, m.observe) },
		DeleteFunc: func(o any) { m.observed(o, m.gone) },
	})
	if err = errors.Join(err, pods.SetTransform(new(slimmer).slim), pods.SetWatchErrorHandlerWithContext(m.watchFailed())); err != nil {
		return fmt.Errorf("watch the function pods in namespace %s: %w", m.config.Namespace, err)
	}
	m.listed = pods.GetStore()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { pods.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
		return nil
	}
	close(m.synced)
	m.config.Log.Info("function pods adopted", "namespace", m.config.Namespace, "pods", len(pods.GetStore().ListKeys()))
	_ = wait.PollUntilContextCancel(ctx, m.config.ScanInterval, false, func(ctx context.Context) (bool, error) { // it ends with ctx
		m.scan(ctx)
		return false, nil
	})
	return nil
}

// watchFailed returns a handler that logs each new kind of problem with the watch once.
func (m *Manager) watchFailed() cache.WatchErrorHandlerWithContext {
	var logged logging.Once
	return func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() == nil && !errors.Is(err, context.Canceled) && logged.New(err) {
			m.config.Log.Warn("the function pods cannot be watched, what is known of them is kept", "namespace", m.config.Namespace, "err", err)
		}
	}
}

func (m *Manager) observed(object any, with func(*corev1.Pod)) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		with(pod)
	}
}

// observe handles the news of a pod that exists.
func (m *Manager) observe(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem, isNew := m.byUID[pod.UID], false
	if mem == nil {
		id, slot, ours := identity(pod)
		if !ours {
			m.observeForeign(pod)
			return
		}
		p := m.ensurePool(id)
		isNew = p.members[slot] == nil
		mem = p.update(slot, pod)
		m.config.Images.Seed(id.Image, id.Digest)
	} else {
		before := mem.object
		if mem = mem.pool.update(mem.slot, pod); mem != nil {
			mem.pool.changed(mem, before)
		}
	}
	if mem != nil {
		mem.pool.follow(mem, isNew && podstatus.Ready(pod))
	}
}

// changed handles what is news of a pod that was seen before. The manager's lock is held.
func (p *Pool) changed(mem *member, before *corev1.Pod) {
	if podstatus.Ready(before) && !podstatus.Ready(mem.object) {
		switch mem.State {
		case lifecycle.Ready:
			mem.endpoint.Suspect(errUnready)
		case lifecycle.Unreachable:
			p.limitUnreachable(mem)
		}
	}
	if p.labelled(mem.slot, before) && !p.labelled(mem.slot, mem.object) {
		p.m.spawn(func() { _ = p.m.find(p.m.life, mem) }) // it is logged
	}
	if mem.disconnect != nil && mem.object.Status.PodIP != "" && before.Status.PodIP != mem.object.Status.PodIP {
		// Its sandbox was made anew.
		mem.disconnect()
		mem.disconnect = nil
	}
}

// follow does what the status of a pod asks for. The manager's lock is held.
func (p *Pool) follow(mem *member, assumed bool) {
	pod := mem.object
	if pod.DeletionTimestamp != nil {
		p.apply(mem, lifecycle.Deleted, nil)
		return
	}
	state, problem := podstatus.Of(pod)
	switch {
	case state == podstatus.Failed, state == podstatus.Restarting && !mem.Served:
		p.broken(mem, problem.Reason, notStarted(pod, problem))
	case state == podstatus.Unschedulable:
		p.unplaced(mem, problem)
	default:
		if mem.State == lifecycle.Starting {
			p.pool.Problem(mem.slot, nil)
		}
		if pod.Status.PodIP != "" && !mem.In(lifecycle.Leaving, lifecycle.Failed) {
			p.connect(mem, assumed)
		}
	}
}

// gone handles the news that a pod does not exist any more, or has lost the label by which it is watched.
func (m *Manager) gone(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.byUID[pod.UID]
	if mem == nil {
		delete(m.foreign, pod.Name)
		return
	}
	unexpected := !mem.In(lifecycle.Leaving, lifecycle.Failed, lifecycle.Expiring)
	mem.pool.forget(mem)
	if unexpected {
		m.spawn(func() { _ = m.find(m.life, mem) }) // it is logged
	}
}

// unwatched tells whether the watch does not show a pod, or may be late with what it shows of one that is starting: after an outage of
// the API server, it takes a minute to be back. The manager's lock is held.
func (m *Manager) unwatched(mem *member) bool {
	if mem.object == nil || time.Since(mem.seen) < requestTimeout {
		return false
	}
	if mem.State == lifecycle.Starting {
		return true
	}
	object, _, _ := m.listed.Get(mem.object) // the key of a pod is no failure
	pod, ok := object.(*corev1.Pod)
	return !ok || pod.UID != mem.object.UID
}

// find looks for a pod that the watch does not show, or may show late. One that has only lost its labels gets them back, and is watched again; one that
// has gone is forgotten. The error is that the API server cannot be reached.
func (m *Manager) find(ctx context.Context, mem *member) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m.mu.RLock()
	uid := mem.object.UID
	m.mu.RUnlock()
	pod, err := m.upkeep().Pods.Get(ctx, mem.name(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && pod.UID != uid:
		m.mu.Lock()
		defer m.mu.Unlock()
		mem.pool.forget(mem)
		return nil
	case err == nil && pod.DeletionTimestamp == nil:
		pod, err = m.restoreLabels(ctx, mem.pool, mem.slot, pod)
	}
	if err == nil {
		m.observe(pod) //nolint:contextcheck // pods are made for whoever waits
	}
	if err != nil && ctx.Err() == nil {
		m.config.Log.Warn("a function pod could not be checked", "pod", mem.name(), "image", mem.pool.id.Image, "err", err)
	}
	return lostConnection(err)
}
