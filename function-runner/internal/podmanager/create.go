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

	"github.com/cenkalti/backoff/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/podpatch"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/cluster/injection"
	"github.com/krmfn/krmfn/services/evaluation/traits"
)

// fieldManager is who has set the fields of pods and Services.
const fieldManager = "krm-function-runner"

// joinAfter is how long the watch may take to show a pod that another replica has made, before the API server is asked for it.
const joinAfter = time.Second

// want is told that a pool wants a pod in a slot.
func (m *Manager) want(p *Pool, slot int) {
	m.spawn(func() { m.provide(p, slot) })
}

// provide makes the pod that a pool wants in a slot, or takes it back if it is there and being given up. The callers that wanted it
// may have gone meanwhile.
func (m *Manager) provide(p *Pool, slot int) {
	m.mu.Lock()
	if mem := p.members[slot]; mem != nil {
		if !p.apply(mem, lifecycle.Kept, nil) {
			// It was made, or deleted, in the meantime.
			p.show(mem, "")
		}
		m.mu.Unlock()
		return
	}
	mem := p.request(slot)
	mem.made = true
	m.mu.Unlock()
	if !m.pace(mem) {
		return
	}
	// This is not the caller's deadline, and the error must not look like one.
	ctx, cancel := context.WithTimeoutCause(m.life, m.config.ReadyTimeout,
		fmt.Errorf("the pod ready timeout of %v (--pod-ready-timeout) is over", m.config.ReadyTimeout))
	defer cancel()
	if err := m.create(ctx, mem); err != nil && m.life.Err() == nil {
		m.config.Log.Warn("function pod not made", "pod", mem.name(), "image", p.id.Image, "err", err)
		m.mu.Lock()
		defer m.mu.Unlock()
		p.notMade(mem, err)
	}
}

// notMade ends the request for a pod, unless another replica has made it. The manager's lock is held.
func (p *Pool) notMade(mem *member, err error) {
	if p.members[mem.slot] == mem && mem.State == lifecycle.Requested {
		p.remove(mem)
		p.pool.NotMade(mem.slot, err)
	}
}

func (m *Manager) create(ctx context.Context, mem *member) error {
	p, begin := mem.pool, time.Now()
	pod, service, err := m.build(ctx, p, mem.slot)
	if err != nil {
		return err
	}
	m.metrics.phase(ctx, p.id.Image, "resolve", time.Since(begin))
	select {
	case <-mem.exists:
		// Another replica was faster.
		return nil
	default:
	}
	return m.createPod(ctx, mem, pod, service)
}

func (m *Manager) build(ctx context.Context, p *Pool, slot int) (*corev1.Pod, *corev1.Service, error) {
	m.mu.RLock()
	template, values := p.template, p.values
	m.mu.RUnlock()
	if template == nil {
		return nil, nil, fmt.Errorf("the pods of function %s that were adopted are gone: call again", p.id.Image)
	}
	image, err := m.config.Images.Image(ctx, p.id.Image, p.id.Digest)
	if err != nil {
		return nil, nil, fmt.Errorf("unable to get the entrypoint for %s: %w", p.id.Image, err)
	}
	m.mu.Lock()
	p.platforms = image.Platforms
	values.AvoidNodes = m.lostNodes()
	m.mu.Unlock()
	values.Image, values.Command, values.User, values.Platforms = image.Pinned(), image.Command, image.User, image.Platforms
	// A wrong value counts for nothing, and is a problem of the object that has it.
	values.Traits, _ = traits.Parse(image.Traits, values.Declared)
	values.Digest, values.Pool, values.TTL = p.id.Digest, p.hash, m.config.Limits(p.id.Image).TTL
	return template.Build(&values, m.config.Namespace, p.id.Of(slot), slot)
}

// lostNodes returns the nodes of pods that cannot be reached, sorted: nodes may be lost with them, long before the scheduler knows.
// The manager's lock is held.
func (m *Manager) lostNodes() []string {
	nodes := sets.New[string]()
	for _, p := range m.pools {
		for _, mem := range p.members {
			if mem.State == lifecycle.Unreachable && mem.object.Spec.NodeName != "" {
				nodes.Insert(mem.object.Spec.NodeName)
			}
		}
	}
	return sets.List(nodes)
}

// createPod creates a pod, and its Service where it is reached by that, or joins the pod that another replica has made in the
// meantime. An API server that cannot be reached is asked again until ctx ends.
func (m *Manager) createPod(ctx context.Context, mem *member, pod *corev1.Pod, service *corev1.Service) error {
	p, begin, pause := mem.pool, time.Now(), firstLook
	created, err := retried(ctx, func() (*corev1.Pod, error) {
		created, err := p.client().Pods.Create(ctx, pod, metav1.CreateOptions{FieldManager: fieldManager})
		if overQuota(err) && (m.makeRoom(ctx, mem, requests(pod)) || pause == firstLook) {
			err = fmt.Errorf("%v: %w", err, &backoff.RetryAfterError{Duration: pause}) //nolint:errorlint // it is not the answer yet
			pause = 2 * roomPause
		}
		return created, err
	})
	switch {
	case apierrors.IsAlreadyExists(err):
		if err := m.join(ctx, mem, pod.Name); err != nil {
			return err
		}
	case err != nil:
		return m.refused(pod, fmt.Errorf("function pod %s cannot be made: %w", pod.Name, err))
	default:
		m.metrics.phase(ctx, p.id.Image, "create", time.Since(begin))
		m.config.Log.Info("function pod created", "pod", pod.Name, "image", p.id.Image, "digest", p.id.Digest)
		if _, _, ours := identity(created); !ours {
			return m.stripped(ctx, created)
		}
		// The watch may be late, or not there.
		m.observe(created) //nolint:contextcheck // pods are made for whoever waits
		if field := podpatch.Dropped(pod, created); field != "" {
			m.weakened(mem, created, field)
			return nil
		}
	}
	m.mu.RLock()
	made := mem.object
	m.mu.RUnlock()
	if made != nil && made.DeletionTimestamp == nil && m.config.Frontend.byService(made) {
		m.createService(ctx, p, made, service)
	}
	return nil
}

// weakened gives up a pod that was created without a field of isolation, so that it is deleted before it runs anything, and whoever
// waits is told.
func (m *Manager) weakened(mem *member, pod *corev1.Pod, field string) {
	err := fmt.Errorf("function pod %s is deleted, as the API server has created it without %s", pod.Name, field)
	m.config.Log.Warn("function pod created with less isolation than the settings of function pods ask for", "pod", pod.Name, "image", mem.pool.id.Image, "err", err)
	m.mu.Lock()
	defer m.mu.Unlock()
	mem.pool.broken(mem, "weakened", err)
}

// stripped deletes a pod that nobody could tell from one of another maker, and returns why.
func (m *Manager) stripped(ctx context.Context, pod *corev1.Pod) error {
	err := m.config.Client.Pods.Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		m.config.Log.Warn("function pod without its annotations not deleted", "pod", pod.Name, "err", err)
	}
	return fmt.Errorf("function pod %s is deleted, as the API server has created it without its annotations: exempt namespace %s from the admission policy or webhook that removes them", pod.Name, pod.Namespace)
}

// refused turns image volumes off if the API server does not know them.
func (m *Manager) refused(pod *corev1.Pod, err error) error {
	if !podtemplate.HasImageVolume(pod) || !injection.RefusedByServer(err) {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.withoutImageVolumes(err)
}

// join uses the pod that holds a name already. The watch shows it, unless somebody has changed its labels: these are restored.
func (m *Manager) join(ctx context.Context, mem *member, name string) error {
	select {
	case <-mem.exists:
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
		// It went just now. Its slot is free, but whoever waits must not wait for it.
		mem.pool.forget(mem)
		return nil
	case err != nil:
		return fmt.Errorf("function pod %s exists and cannot be looked at: %w", name, err)
	}
	if id, _, ours := identity(pod); !ours || id != mem.pool.id {
		m.avoid(mem, pod)
		return nil
	}
	if pod, err = m.restoreLabels(ctx, mem.pool, mem.slot, pod); err != nil {
		return err
	}
	m.config.Log.Info("function pod of another replica joined", "pod", pod.Name, "image", mem.pool.id.Image)
	m.observe(pod) //nolint:contextcheck // pods are made for whoever waits
	return nil
}

// avoidFor is how long a slot is not used whose name a pod of another maker has.
const avoidFor = time.Minute

// avoid has a pool use other slots than one whose name a pod of another maker has.
func (m *Manager) avoid(mem *member, pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.config.Log.Warn("the name of a function pod is taken by a pod of another maker, or its annotations were changed: delete that pod",
		"pod", pod.Name, "image", mem.pool.id.Image, "annotations", "krmfn.dev/image, krmfn.dev/digest, fn.kpt.dev/template-version")
	if mem.pool.members[mem.slot] == mem {
		mem.pool.remove(mem)
		mem.pool.pool.Avoid(mem.slot, avoidFor)
	}
}

// labels returns the labels that the pod in a slot has.
func (p *Pool) labels(slot int) map[string]string {
	return map[string]string{functionpod.ImageLabel: p.id.Of(slot), functionpod.PoolLabel: p.hash, functionpod.SlotLabel: strconv.Itoa(slot)}
}

// labelled tells whether a pod has the labels that the one in a slot has.
func (p *Pool) labelled(slot int, pod *corev1.Pod) bool {
	return maps.Equal(p.labels(slot), only(pod.Labels, functionpod.ImageLabel, functionpod.PoolLabel, functionpod.SlotLabel))
}

// restoreLabels gives a pod of ours the labels back by which it is found, and returns the pod that has them.
func (m *Manager) restoreLabels(ctx context.Context, p *Pool, slot int, pod *corev1.Pod) (*corev1.Pod, error) {
	if p.labelled(slot, pod) {
		return pod, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "labels": p.labels(slot)}})
	if err == nil {
		pod, err = retried(ctx, func() (*corev1.Pod, error) {
			return m.upkeep().Pods.Patch(ctx, p.id.Of(slot), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
		})
	}
	if err != nil {
		return nil, fmt.Errorf("restore the labels of function pod %s, which somebody has changed: %w", p.id.Of(slot), err)
	}
	m.config.Log.Warn("somebody has changed the labels of a function pod, they are restored", "pod", pod.Name, "image", p.id.Image)
	return pod, nil
}
