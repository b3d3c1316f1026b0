// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/podstatus"
	"github.com/krmfn/krmfn/internal/server/logging"
)

// watch watches the function pods and scans them until ctx ends.
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
	m.seedDigests()
	close(m.synced)
	m.config.Log.Info("function pods adopted", "namespace", m.config.Namespace, "pods", len(pods.GetStore().ListKeys()))
	m.scanAtIntervals(ctx)
	return nil
}

// scanAtIntervals scans until ctx ends. The first scan starts after a random part of the interval, so that the replicas do not record the
// same uses at the same time.
func (m *Manager) scanAtIntervals(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(rand.N(m.config.ScanInterval)): //nolint:gosec // G404: chance, not a secret
	}
	wait.UntilWithContext(ctx, m.scan, m.config.ScanInterval)
}

// watchFailed returns a handler that logs each new kind of watch error once.
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

// observe reconciles a new version of a pod.
func (m *Manager) observe(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem, isNew := m.byUID[pod.UID], false
	if mem == nil {
		id, ordinal, ours := identity(pod)
		if !ours {
			m.observeForeign(pod)
			return
		}
		w := m.workload(id)
		isNew = w.members[ordinal] == nil
		mem = w.update(ordinal, pod)
		if m.isSynced() {
			m.config.Images.Seed(id.Image, id.Digest)
		}
	} else {
		before := mem.object
		if mem = mem.workload.update(mem.Ordinal, pod); mem != nil {
			mem.workload.changed(mem, before)
		}
	}
	if mem != nil {
		mem.workload.follow(mem, isNew && podstatus.Ready(pod))
	}
}

// isSynced reports whether the manager knows the pods that existed when it started.
func (m *Manager) isSynced() bool {
	select {
	case <-m.synced:
		return true
	default:
		return false
	}
}

// seedDigests passes the digests of the references that have pods to Images.Seed. If the pods of a reference have different digests, the
// youngest pod decides, because the tag may have moved since the others were created.
func (m *Manager) seedDigests() {
	m.mu.Lock()
	defer m.mu.Unlock()
	youngest := map[string]*member{}
	for _, mem := range m.byUID {
		other := youngest[mem.workload.ID.Image]
		if other == nil || other.object.CreationTimestamp.Before(&mem.object.CreationTimestamp) {
			youngest[mem.workload.ID.Image] = mem
		}
	}
	for reference, mem := range youngest {
		m.config.Images.Seed(reference, mem.workload.ID.Digest)
	}
}

// changed reconciles the difference between two versions of a pod.
func (w *workload) changed(mem *member, before *corev1.Pod) {
	if podstatus.Ready(before) && !podstatus.Ready(mem.object) {
		switch mem.State() {
		case lifecycle.Ready:
			mem.Suspect(errUnready)
		case lifecycle.Unreachable:
			w.limitUnreachable(mem)
		}
	}
	if w.labelled(mem.Ordinal, before) && !w.labelled(mem.Ordinal, mem.object) {
		w.m.spawn(func() { _ = w.m.find(w.m.life, mem) }) // it is logged
	}
	if ip := mem.object.Status.PodIP; mem.connection != nil && ip != "" && ip != mem.connection.address {
		// The kubelet has created a new sandbox, with another address.
		w.apply(mem, lifecycle.Suspected, errMoved)
		mem.disconnect()
	}
}

// follow reconciles the current version of a pod.
func (w *workload) follow(mem *member, assumed bool) {
	pod := mem.object
	if pod.DeletionTimestamp != nil {
		w.apply(mem, lifecycle.Deleted, nil)
		return
	}
	status, _ := mem.Status()
	state, problem := podstatus.Of(pod)
	switch {
	case state == podstatus.Failed, state == podstatus.Restarting && !status.Served:
		w.broken(mem, problem.Reason, notStarted(pod, problem))
	case state == podstatus.Unschedulable:
		w.onUnschedulable(mem, problem)
	default:
		w.SetProblem(mem.Pod, nil)
		if pod.Status.PodIP != "" && !mem.In(lifecycle.Leaving, lifecycle.Failed) {
			w.connect(mem, assumed)
		}
	}
}

// gone handles a pod that was deleted, or that has lost the label that the watch selects.
func (m *Manager) gone(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.byUID[pod.UID]
	if mem == nil {
		delete(m.foreign, pod.Name)
		return
	}
	unexpected := !mem.In(lifecycle.Leaving, lifecycle.Failed, lifecycle.Expiring)
	mem.workload.remove(mem)
	if unexpected {
		m.spawn(func() { _ = m.find(m.life, mem) }) // it is logged
	}
}

// unwatched reports whether the watch does not show a pod, or may be late for a pod that is starting. After an outage of the API server,
// the watch takes a minute to recover.
func (m *Manager) unwatched(mem *member) bool {
	if mem.object == nil || time.Since(mem.seen) < requestTimeout {
		return false
	}
	if mem.In(lifecycle.Starting) {
		return true
	}
	object, _, _ := m.listed.Get(mem.object) // a pod always has a key
	pod, ok := object.(*corev1.Pod)
	return !ok || pod.UID != mem.object.UID
}

// find reads a pod that the watch does not show, or may show late. It restores the labels of a pod that has lost them, so that the watch
// shows the pod again, and removes a pod that was deleted. The error reports that the API server is unreachable.
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
		mem.workload.remove(mem)
		return nil
	case err == nil && pod.DeletionTimestamp == nil:
		pod, err = m.restoreLabels(ctx, mem.workload, mem.Ordinal, pod)
	}
	if err == nil {
		m.observe(pod) //nolint:contextcheck // pods are made for whoever waits
	}
	if err != nil && ctx.Err() == nil {
		m.config.Log.Warn("a function pod could not be checked", "pod", mem.name(), "image", mem.workload.ID.Image, "err", err)
	}
	return lostConnection(err)
}
