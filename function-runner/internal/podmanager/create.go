// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/injection"
)

// fieldManager is who has set the fields of pods and Services.
const fieldManager = "krm-function-runner"

// create makes the pod that a pool wants in a slot. The callers that wanted it may have gone meanwhile.
func (m *Manager) create(p *Pool, slot int) {
	// This is not the caller's deadline, and the error must not look like one.
	ctx, cancel := context.WithTimeoutCause(m.life, m.config.ReadyTimeout,
		fmt.Errorf("the pod ready timeout of %v (--pod-ready-timeout) is over", m.config.ReadyTimeout))
	defer cancel()
	m.mu.RLock()
	held := p.members[slot] != nil
	m.mu.RUnlock()
	if held {
		// It was given up and is wanted back: the answer to its deletion says what becomes of it.
		return
	}
	begin := time.Now()
	pod, service, err := m.build(ctx, p, slot)
	if err == nil {
		m.metrics.phase(ctx, p.id.Image, "resolve", time.Since(begin))
		err = m.createPod(ctx, p, slot, pod, service)
	}
	if err != nil && m.life.Err() == nil {
		m.config.Log.Warn("function pod not made", "pod", p.id.Of(slot), "image", p.id.Image, "err", err)
		p.pool.NotMade(slot, err)
	}
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
	m.mu.Unlock()
	values.Image, values.Command, values.User, values.Platforms = image.Pinned(), image.Command, image.User, image.Platforms
	values.Pool, values.TTL = p.hash, m.config.Limits(p.id.Image).TTL
	return template.Build(&values, m.config.Namespace, p.id.Of(slot), slot)
}

// createPod creates a pod and its Service, or joins the pod that another replica has made in the meantime. An API server that
// cannot be reached is asked again until ctx ends.
func (m *Manager) createPod(ctx context.Context, p *Pool, slot int, pod *corev1.Pod, service *corev1.Service) error {
	begin := time.Now()
	created, err := retried(ctx, func() (*corev1.Pod, error) {
		return m.config.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{FieldManager: fieldManager})
	})
	if apierrors.IsAlreadyExists(err) {
		return m.join(ctx, p, slot, pod.Name, service)
	}
	if err != nil {
		return m.refused(pod, fmt.Errorf("function pod %s cannot be made: %w", pod.Name, err))
	}
	m.metrics.phase(ctx, p.id.Image, "create", time.Since(begin))
	m.config.Log.Info("function pod created", "pod", pod.Name, "image", p.id.Image, "digest", p.id.Digest)
	// The watch may be late, or not there.
	m.observe(created) //nolint:contextcheck // pods are made for whoever waits
	m.createService(ctx, p, created, service)
	return nil
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

// join uses the pod that holds a name already, and makes its Service where it is missing: whoever made the pod may have died in
// between, or may be this replica, whose request was carried out and not answered.
func (m *Manager) join(ctx context.Context, p *Pool, slot int, name string, service *corev1.Service) error {
	pod, err := retried(ctx, func() (*corev1.Pod, error) {
		return m.config.Client.CoreV1().Pods(m.config.Namespace).Get(ctx, name, metav1.GetOptions{})
	})
	switch {
	case apierrors.IsNotFound(err):
		// It went just now. Its slot is free, but whoever waits must not wait for it.
		p.pool.Gone(slot)
		return nil
	case err != nil:
		return fmt.Errorf("function pod %s exists and cannot be looked at: %w", name, err)
	}
	if id, _, ours := identity(pod); !ours || id.Hash() != p.hash {
		p.pool.Leaving(slot)
		return nil
	}
	m.config.Log.Info("function pod of another replica joined", "pod", name, "image", p.id.Image)
	m.observe(pod) //nolint:contextcheck // pods are made for whoever waits
	if pod.DeletionTimestamp == nil {
		m.createService(ctx, p, pod, service)
	}
	return nil
}

// createService makes the Service of a pod that has none. The pod owns it, so that both are deleted together.
func (m *Manager) createService(ctx context.Context, p *Pool, pod *corev1.Pod, service *corev1.Service) {
	service.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}
	services := m.config.Client.CoreV1().Services(service.Namespace)
	_, err := retried(ctx, func() (*corev1.Service, error) {
		created, err := services.Create(ctx, service, metav1.CreateOptions{FieldManager: fieldManager})
		if !apierrors.IsAlreadyExists(err) {
			return created, err
		}
		existing, getErr := services.Get(ctx, service.Name, metav1.GetOptions{})
		if getErr == nil && owned(existing, pod) {
			return existing, nil
		}
		if getErr == nil {
			// It belongs to an earlier pod of this name, and is garbage collected sooner or later.
			_ = services.Delete(ctx, service.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &existing.UID}})
		}
		return nil, apierrors.NewTooManyRequests("the Service of an earlier pod is being deleted", 0)
	})
	if err != nil {
		m.config.Log.Warn("the Service of a function pod cannot be made", "pod", pod.Name, "image", p.id.Image, "err", err)
	}
}

func owned(service *corev1.Service, pod *corev1.Pod) bool {
	return slices.ContainsFunc(service.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == pod.UID })
}

// retried repeats a request that failed for a reason that may pass. When ctx ends, the error has its cause and the last failure.
func retried[T any](ctx context.Context, request func() (T, error)) (T, error) {
	var last error
	got, err := backoff.Retry(ctx, func() (T, error) {
		got, err := request()
		if ctx.Err() == nil {
			last = err
		}
		var status apierrors.APIStatus
		if err != nil && errors.As(err, &status) && !temporary(err) {
			return got, backoff.Permanent(err)
		}
		return got, err
	}, backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: 50 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 5 * time.Second,
	}), backoff.WithMaxElapsedTime(0))
	if err != nil && last != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", err, last)
	}
	return got, err
}

// temporary tells whether the same request may succeed later. Of what is created, a conflict is that of two requests which count
// towards one quota.
func temporary(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err)
}
