// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/cluster/injection"
)

// requestTimeout bounds a request that deletes or changes a pod. The scan repeats what failed.
const requestTimeout = 10 * time.Second

// fail gives up a pod that does not get ready or has ended, and deletes it. Only the first replica to do so logs the reason.
func (m *Manager) fail(ctx context.Context, p *Pool, mem *member, reason string, err error) {
	m.mu.Lock()
	if mem.leaving {
		m.mu.Unlock()
		return
	}
	mem.leaving, mem.ready = true, false
	mem.deadline.Stop()
	pod := mem.pod
	if podtemplate.HasImageVolume(pod) && injection.RefusedByNode(reason, err.Error(), podtemplate.ToolsDir) {
		err = m.withoutImageVolumes(err)
	}
	if mem.served {
		// It ran well once: the calls that wait may have another one.
		p.pool.Leaving(mem.slot)
	} else {
		p.pool.Failed(mem.slot, err)
	}
	m.mu.Unlock()
	m.config.Log.Warn("function pod failed", "pod", pod.Name, "image", p.id.Image, "reason", reason, "err", err)
	m.discard(ctx, p, mem, pod, reason)
}

// discard deletes a pod that was given up. If that fails, the scan tries again.
func (m *Manager) discard(ctx context.Context, p *Pool, mem *member, pod *corev1.Pod, reason string) {
	done := m.remove(ctx, p, mem, pod.Name, reason, metav1.Preconditions{UID: &pod.UID})
	m.mu.Lock()
	defer m.mu.Unlock()
	mem.undeleted = ""
	if !done {
		mem.undeleted = reason
	}
}

// ReplacedError says that pods of one kind did not start, and that pods are made differently from now on: retry the call.
type ReplacedError struct {
	// Err is why they did not start.
	Err error
}

func (e *ReplacedError) Error() string { return e.Err.Error() }

// Retry tells the pool that the next pod need not fail as well.
func (e *ReplacedError) Retry() bool { return true }

// Unwrap returns why they did not start.
func (e *ReplacedError) Unwrap() error { return e.Err }

// withoutImageVolumes turns image volumes off after an error that they caused. The manager's lock is held.
func (m *Manager) withoutImageVolumes(err error) error {
	if m.config.Templates.RefuseImageVolumes(err.Error()) {
		m.epoch++
	} else if podtemplate.HasImageVolume(&m.config.Templates.Current().Pod) {
		return err
	}
	return &ReplacedError{Err: err}
}

// expire deletes a pod that nobody needs. Whoever has used it since it was last seen has changed its resource version, and
// keeps it.
func (m *Manager) expire(ctx context.Context, p *Pool, slot int, reason string) {
	m.mu.RLock()
	mem := p.members[slot]
	if mem == nil {
		m.mu.RUnlock()
		return
	}
	pod := mem.pod
	m.mu.RUnlock()
	if !m.remove(ctx, p, mem, pod.Name, reason, metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if p.members[slot] == mem && !mem.leaving && mem.ready {
			p.pool.Keep(slot)
		}
	}
}

// remove deletes a pod and tells whether it is deleted or terminating.
func (m *Manager) remove(ctx context.Context, p *Pool, mem *member, name, reason string, only metav1.Preconditions) bool {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := m.config.Client.CoreV1().Pods(m.config.Namespace).Delete(ctx, name, metav1.DeleteOptions{Preconditions: &only})
	switch {
	case err == nil:
		m.config.Log.Info("function pod deleted", "pod", name, "image", p.id.Image, "reason", reason)
		m.metrics.evicted(ctx, p.id.Image, reason)
		m.mu.Lock()
		p.leave(mem)
		m.mu.Unlock()
		return true
	case apierrors.IsNotFound(err):
		m.mu.Lock()
		if p.members[mem.slot] == mem {
			p.forget(mem)
		}
		m.mu.Unlock()
		return true
	case !apierrors.IsConflict(err):
		m.config.Log.Warn("function pod not deleted", "pod", name, "image", p.id.Image, "reason", reason, "err", err)
	}
	return false
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
	m.config.Log.Info("function pod of another maker found, it is left alone until it must be idle",
		"pod", pod.Name, "label", pod.Labels[functionpod.ImageLabel], "for", m.config.ForeignTTL)
}

// removeForeign deletes the pods of other makers that have been there for long enough.
func (m *Manager) removeForeign(ctx context.Context) {
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
		m.removeOneForeign(ctx, name, pod)
	}
}

func (m *Manager) removeOneForeign(ctx context.Context, name string, pod foreign) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// A pod that has come in its place since may be anybody's.
	only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.uid}}
	err := m.config.Client.CoreV1().Pods(m.config.Namespace).Delete(ctx, name, only)
	switch {
	case err == nil:
		m.config.Log.Info("function pod deleted", "pod", name, "reason", "foreign")
		m.metrics.evicted(ctx, "", "foreign")
	case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
		m.config.Log.Warn("function pod of another maker not deleted", "pod", name, "err", err)
	}
}
