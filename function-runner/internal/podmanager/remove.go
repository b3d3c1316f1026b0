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
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

// requestTimeout bounds a request that deletes or changes a pod. The scan retries failed requests.
const requestTimeout = 10 * time.Second

// discard deletes a failed pod. If the request fails, the scan retries it.
func (m *Manager) discard(ctx context.Context, mem *member, reason string) {
	m.mu.Lock()
	if mem.deleting || !mem.In(lifecycle.Failed) {
		m.mu.Unlock()
		return
	}
	mem.deleting = true
	object := mem.object
	m.mu.Unlock()
	_ = m.deletePod(ctx, mem, reason, metav1.Preconditions{UID: &object.UID}) // the scan tries again
	m.mu.Lock()
	defer m.mu.Unlock()
	mem.deleting = false
}

// expire deletes a pod if it is still idle, and reports whether it did. The API server rejects the request if another replica has used
// the pod since, because the use has changed the pod's resource version. A call that needs the pod before the response arrives takes the
// pod back. The error reports that the API server is unreachable.
func (m *Manager) expire(ctx context.Context, mem *member, reason string) (deleted bool, err error) {
	w := mem.workload
	m.mu.Lock()
	if ctx.Err() != nil || w.members[mem.Ordinal] != mem || !w.Expire(mem.Pod) {
		m.mu.Unlock()
		return false, nil
	}
	_, changed := mem.Status()
	object := mem.object
	m.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m.spawn(func() {
		// Cancel the request when a call takes the pod back.
		select {
		case <-changed:
			if mem.In(lifecycle.Ready) {
				cancel()
			}
		case <-ctx.Done():
		}
	})
	err = m.deletePod(ctx, mem, reason, metav1.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion})
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case mem.In(lifecycle.Leaving), w.members[mem.Ordinal] != mem:
		return true, nil
	case w.apply(mem, lifecycle.Kept, nil):
		return false, lostConnection(err)
	}
	// A call has taken the pod back.
	return false, nil
}

// lostConnection returns err unless it is a response of the API server.
func lostConnection(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return nil
	}
	return err
}

// deletePod deletes a pod. If it returns nil, the pod is deleted or terminating.
func (m *Manager) deletePod(ctx context.Context, mem *member, reason string, only metav1.Preconditions) error {
	w, name := mem.workload, mem.name()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := m.upkeep().Pods.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &only})
	switch {
	case err == nil:
		m.config.Log.Info("function pod deleted", "pod", name, "image", w.ID.Image, "reason", reason)
		m.metrics.evicted(ctx, w.ID.Image, reason)
		m.mu.Lock()
		defer m.mu.Unlock()
		w.apply(mem, lifecycle.Deleted, nil)
	case apierrors.IsNotFound(err):
		m.mu.Lock()
		defer m.mu.Unlock()
		w.remove(mem)
		return nil
	case !apierrors.IsConflict(err) && !errors.Is(ctx.Err(), context.Canceled):
		m.config.Log.Warn("function pod not deleted", "pod", name, "image", w.ID.Image, "reason", reason, "err", err)
	}
	return err
}

// foreign identifies a pod that another program or an older release has created. seen is when this replica first saw the pod.
type foreign struct {
	uid  types.UID
	seen time.Time
}

// observeForeign records a pod that Porch's function runner, or an older release, has created. The pod gets no calls from this function
// runner, but may run calls of its creator. The manager deletes it after ForeignTTL.
func (m *Manager) observeForeign(pod *corev1.Pod) {
	if m.foreign[pod.Name].uid == pod.UID || pod.DeletionTimestamp != nil {
		return
	}
	m.foreign[pod.Name] = foreign{uid: pod.UID, seen: time.Now()}
	m.config.Log.Info("function pod of another maker found, it gets no calls and is deleted later",
		"pod", pod.Name, "label", pod.Labels[functionpod.ImageLabel], "after", m.config.ForeignTTL)
}

// removeForeign deletes the foreign pods that are older than ForeignTTL, counted from when this replica first saw them.
func (m *Manager) removeForeign(ctx context.Context) error {
	m.mu.Lock()
	old := map[string]foreign{}
	for name, pod := range m.foreign {
		if time.Since(pod.seen) > m.config.ForeignTTL {
			old[name] = pod
			// Restart the time, so that a failed request is retried later.
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
	// The precondition protects a newer pod of the same name.
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
