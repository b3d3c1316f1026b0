// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/podpatch"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/traits"
)

// fieldManager is the field manager of pods and Services.
const fieldManager = "krm-function-runner"

// joinAfter is the time that the manager waits for the watch to show a pod that another replica has created, before it reads the pod from
// the API server.
const joinAfter = time.Second

// provide creates a pod that a pool has requested, unless another replica has created the pod meanwhile. It does not depend on the caller
// that needed the pod.
func (m *Manager) provide(w *workload, pod *pool.Pod) {
	m.mu.Lock()
	if w.members[pod.Ordinal] != nil || !w.Has(pod) {
		m.mu.Unlock()
		return
	}
	mem := w.add(pod)
	mem.requested = true
	m.mu.Unlock()
	if !m.pace(mem) {
		return
	}
	// The error must not look like the caller's deadline.
	ctx, cancel := context.WithTimeoutCause(m.life, m.config.ReadyTimeout,
		fmt.Errorf("the pod ready timeout of %v (--pod-ready-timeout) is over", m.config.ReadyTimeout))
	defer cancel()
	if err := m.create(ctx, mem); err != nil && m.life.Err() == nil {
		m.config.Log.Warn("function pod not created", "pod", mem.name(), "image", w.ID.Image, "err", err)
		m.mu.Lock()
		defer m.mu.Unlock()
		if mem.In(lifecycle.Requested) && w.forget(mem) {
			w.Abandon(mem.Pod, err)
		}
	}
}

func (m *Manager) create(ctx context.Context, mem *member) error {
	w, begin := mem.workload, time.Now()
	pod, service, err := m.build(ctx, w, mem.Ordinal)
	if err != nil {
		return err
	}
	m.metrics.phase(ctx, w.ID.Image, "resolve", time.Since(begin))
	if !mem.In(lifecycle.Requested) {
		// Another replica was faster.
		return nil
	}
	return m.createPod(ctx, mem, pod, service)
}

func (m *Manager) build(ctx context.Context, w *workload, ordinal int) (*corev1.Pod, *corev1.Service, error) {
	m.mu.RLock()
	template, values := w.template, w.values
	m.mu.RUnlock()
	if template == nil {
		return nil, nil, fmt.Errorf("the pods of function %s that were adopted are gone: call again", w.ID.Image)
	}
	image, err := m.config.Images.Image(ctx, w.ID.Image, w.ID.Digest)
	if err != nil {
		return nil, nil, fmt.Errorf("unable to get the entrypoint for %s: %w", w.ID.Image, err)
	}
	m.mu.Lock()
	w.platforms = image.Platforms
	values.AvoidNodes = m.lostNodes()
	m.mu.Unlock()
	values.Image, values.Command, values.User, values.Platforms = image.Pinned(), image.Command, image.User, image.Platforms
	// A trait with an invalid value is ignored here. The object that declares the value reports the problem.
	values.Traits, _ = traits.Parse(image.Traits, values.Declared)
	values.Digest, values.Pool, values.TTL = w.ID.Digest, w.ID.Hash(), m.config.Limits(w.ID.Image).TTL
	return template.Build(&values, m.config.Namespace, w.ID.Of(ordinal), ordinal)
}

// lostNodes returns the nodes of unreachable pods, sorted. These nodes may be lost, long before the scheduler learns about it.
func (m *Manager) lostNodes() []string {
	nodes := sets.New[string]()
	for _, mem := range m.byUID {
		if mem.object.Spec.NodeName != "" && mem.In(lifecycle.Unreachable) {
			nodes.Insert(mem.object.Spec.NodeName)
		}
	}
	return sets.List(nodes)
}

// createPod creates a pod, and a Service if the pod is reached by one. If another replica has created the pod meanwhile, createPod joins
// it. It retries requests that fail temporarily until ctx ends.
func (m *Manager) createPod(ctx context.Context, mem *member, pod *corev1.Pod, service *corev1.Service) error {
	w, begin := mem.workload, time.Now()
	created, err := m.requestPod(ctx, mem, pod)
	switch {
	case apierrors.IsAlreadyExists(err):
		if err := m.join(ctx, mem, pod.Name); err != nil {
			return err
		}
	case err != nil:
		return m.refused(pod, fmt.Errorf("function pod %s cannot be created: %w", pod.Name, err))
	default:
		m.metrics.phase(ctx, w.ID.Image, "create", time.Since(begin))
		m.config.Log.Info("function pod created", "pod", pod.Name, "image", w.ID.Image, "digest", w.ID.Digest)
		if _, _, ours := identity(created); !ours {
			return m.stripped(ctx, created)
		}
		// The watch may be late, or interrupted.
		m.observe(created) //nolint:contextcheck // pods are created for whoever waits
		if field := podpatch.Dropped(pod, created); field != "" {
			m.weakened(mem, created, field)
			return nil
		}
	}
	m.mu.RLock()
	object := mem.object
	m.mu.RUnlock()
	if object != nil && object.DeletionTimestamp == nil && m.config.Frontend.byService(object) {
		m.createService(ctx, w, object, service)
	}
	return nil
}

// weakened marks a pod as failed that was created without a security-relevant field, so that the manager deletes it before it runs a
// function, and waiting callers get the reason.
func (m *Manager) weakened(mem *member, pod *corev1.Pod, field string) {
	err := fmt.Errorf("function pod %s is deleted, as the API server has created it without %s", pod.Name, field)
	m.config.Log.Warn("function pod created with less isolation than the settings of function pods ask for", "pod", pod.Name, "image", mem.workload.ID.Image, "err", err)
	m.mu.Lock()
	defer m.mu.Unlock()
	mem.workload.broken(mem, "weakened", err)
}

// stripped deletes a pod that was created without its annotations, because replicas could not identify it, and returns the reason.
func (m *Manager) stripped(ctx context.Context, pod *corev1.Pod) error {
	err := m.config.Client.Pods.Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		m.config.Log.Warn("function pod without its annotations not deleted", "pod", pod.Name, "err", err)
	}
	return fmt.Errorf("function pod %s is deleted, as the API server has created it without its annotations: exempt namespace %s from the admission policy or webhook that removes them", pod.Name, pod.Namespace)
}

// refused disables image volumes if the API server does not support them.
func (m *Manager) refused(pod *corev1.Pod, err error) error {
	if !podtemplate.HasImageVolume(pod) || !injection.RefusedByServer(err) {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.withoutImageVolumes(err)
}

// join uses the existing pod with the name. The watch shows it, unless its labels were changed: join restores them.
func (m *Manager) join(ctx context.Context, mem *member, name string) error {
	status, changed := mem.Status()
	if status.State != lifecycle.Requested {
		return nil
	}
	select {
	case <-changed:
		return nil
	case <-time.After(joinAfter):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	pods := m.config.Client.Pods
	pod, err := retried(ctx, func() (*corev1.Pod, error) { return pods.Get(ctx, name, metav1.GetOptions{}) })
	switch {
	case apierrors.IsNotFound(err):
		m.mu.Lock()
		defer m.mu.Unlock()
		// The pod was deleted just now. Removing the member frees the ordinal, and lets the pool request another pod.
		mem.workload.remove(mem)
		return nil
	case err != nil:
		return fmt.Errorf("function pod %s exists and cannot be read: %w", name, err)
	}
	if id, _, ours := identity(pod); !ours || id != mem.workload.ID {
		m.avoid(mem, pod)
		return nil
	}
	if pod, err = m.restoreLabels(ctx, mem.workload, mem.Ordinal, pod); err != nil {
		return err
	}
	m.config.Log.Info("function pod of another replica joined", "pod", pod.Name, "image", mem.workload.ID.Image)
	m.observe(pod) //nolint:contextcheck // pods are created for whoever waits
	return nil
}

// avoidFor is the time for which an ordinal is blocked after a pod of another owner, or of another pool, had its name.
const avoidFor = time.Minute

// avoid makes a pool skip an ordinal whose name another pod has.
func (m *Manager) avoid(mem *member, pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.config.Log.Warn("another pod has the name of a function pod, or its annotations were changed: delete that pod",
		"pod", pod.Name, "image", mem.workload.ID.Image, "annotations", "krmfn.dev/image, krmfn.dev/digest, fn.kpt.dev/template-version")
	if mem.workload.forget(mem) {
		mem.workload.Avoid(mem.Pod, avoidFor)
	}
}

// labels returns the labels of the pod with an ordinal.
func (w *workload) labels(ordinal int) map[string]string {
	return map[string]string{functionpod.ImageLabel: w.ID.Of(ordinal), functionpod.PoolLabel: w.ID.Hash(), functionpod.OrdinalLabel: strconv.Itoa(ordinal)}
}

// labelled reports whether a pod has the labels of the pod with an ordinal.
func (w *workload) labelled(ordinal int, pod *corev1.Pod) bool {
	return maps.Equal(w.labels(ordinal), only(pod.Labels, functionpod.ImageLabel, functionpod.PoolLabel, functionpod.OrdinalLabel))
}

// restoreLabels restores the labels that select a pod, and returns the pod.
func (m *Manager) restoreLabels(ctx context.Context, w *workload, ordinal int, pod *corev1.Pod) (*corev1.Pod, error) {
	if w.labelled(ordinal, pod) {
		return pod, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "labels": w.labels(ordinal)}})
	if err == nil {
		pod, err = retried(ctx, func() (*corev1.Pod, error) {
			return m.upkeep().Pods.Patch(ctx, w.ID.Of(ordinal), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
		})
	}
	if err != nil {
		return nil, fmt.Errorf("restore the labels of function pod %s, which somebody has changed: %w", w.ID.Of(ordinal), err)
	}
	m.config.Log.Warn("somebody has changed the labels of a function pod, they are restored", "pod", pod.Name, "image", w.ID.Image)
	return pod, nil
}
