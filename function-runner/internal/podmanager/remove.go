// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/services/cluster/functionpod"
)

// requestTimeout bounds a request that deletes or changes a pod. The scan repeats what failed.
const requestTimeout = 10 * time.Second

// discard deletes a pod that was given up. If that fails, the scan tries again.
func (m *Manager) discard(ctx context.Context, mem *member, reason string) {
	m.mu.Lock()
	if mem.State != lifecycle.Failed || mem.deleting {
		m.mu.Unlock()
		return
	}
	mem.deleting = true
	pod := mem.object
	m.mu.Unlock()
	_ = m.remove(ctx, mem, reason, metav1.Preconditions{UID: &pod.UID}) // the scan tries again
	m.mu.Lock()
	defer m.mu.Unlock()
	mem.deleting = false
}

// expire deletes an idle pod, if it still is when it is its turn, and tells whether it did. Whoever has used it since it was
// last seen has changed its resource version, and keeps it; calls that come before the answer take it back. The error is that
// the API server cannot be reached.
func (m *Manager) expire(ctx context.Context, p *Pool, slot int, reason string) (deleted bool, err error) {
	m.mu.Lock()
	mem := p.members[slot]
	if ctx.Err() != nil || mem == nil || mem.State != lifecycle.Ready || !p.pool.GiveUp(slot) {
		m.mu.Unlock()
		return false, nil
	}
	p.apply(mem, lifecycle.Expired, nil)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	mem.keep = cancel
	pod := mem.object
	m.mu.Unlock()
	err = m.remove(ctx, mem, reason, metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion})
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case mem.State == lifecycle.Leaving, p.members[slot] != mem:
		return true, nil
	case p.apply(mem, lifecycle.Kept, nil):
		return false, lostConnection(err)
	}
	// A call has taken it back.
	return false, nil
}

// lostConnection returns an error that is not the API server's answer.
func lostConnection(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return nil
	}
	return err
}

// remove deletes a pod. Without an error it is deleted, or terminating.
func (m *Manager) remove(ctx context.Context, mem *member, reason string, only metav1.Preconditions) error {
	p, name := mem.pool, mem.name()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := m.upkeep().Pods.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &only})
	switch {
	case err == nil:
		m.config.Log.Info("function pod deleted", "pod", name, "image", p.id.Image, "reason", reason)
		m.metrics.evicted(ctx, p.id.Image, reason)
		m.mu.Lock()
		defer m.mu.Unlock()
		p.apply(mem, lifecycle.Deleted, nil)
	case apierrors.IsNotFound(err):
		m.mu.Lock()
		defer m.mu.Unlock()
		p.forget(mem)
		return nil
	case !apierrors.IsConflict(err) && !errors.Is(ctx.Err(), context.Canceled):
		m.config.Log.Warn("function pod not deleted", "pod", name, "image", p.id.Image, "reason", reason, "err", err)
	}
	return err
}

// foreign is a pod of another maker, and when it was first seen.
type foreign struct {
	uid  types.UID
	seen time.Time
}

// observeForeign notes a pod that Porch's function runner, or an older one of ours, has made. It gets no calls, and nothing is
// known of those that it may run: it is left alone for as long as its maker would let it be idle.
func (m *Manager) observeForeign(pod *corev1.Pod) {
	if m.foreign[pod.Name].uid == pod.UID || pod.DeletionTimestamp != nil {
		return
	}
	m.foreign[pod.Name] = foreign{uid: pod.UID, seen: time.Now()}
	m.config.Log.Info("function pod of another maker found, it gets no calls and is deleted later",
		"pod", pod.Name, "label", pod.Labels[functionpod.ImageLabel], "after", m.config.ForeignTTL)
}

// removeForeign deletes the pods of other makers that have been there for long enough.
func (m *Manager) removeForeign(ctx context.Context) error {
	m.mu.Lock()
	old := map[string]foreign{}
	for name, pod := range m.foreign {
		if time.Since(pod.seen) > m.config.ForeignTTL {
			old[name] = pod
			// To be looked at again where it cannot be deleted.
			m.foreign[name] = foreign{uid: pod.uid, seen: time.Now()}
		}
	}
	m.mu.Unlock()
	for name, pod := range old {
		if err := m.removeOneForeign(ctx, name, pod); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) removeOneForeign(ctx context.Context, name string, pod foreign) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// A pod that has come in its place since may be anybody's.
	only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.uid}}
	err := m.upkeep().Pods.Delete(ctx, name, only)
	switch {
	case err == nil:
		m.config.Log.Info("function pod deleted", "pod", name, "reason", "foreign")
		m.metrics.evicted(ctx, "", "foreign")
	case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
		m.config.Log.Warn("function pod of another maker not deleted", "pod", name, "err", err)
	}
	return lostConnection(err)
}
