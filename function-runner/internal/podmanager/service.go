// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// healService makes the Service of a pod anew where somebody has deleted it.
func (m *Manager) healService(ctx context.Context, mem *member, pod *corev1.Pod) {
	_, service, err := m.build(ctx, mem.pool, mem.slot)
	if err != nil {
		m.config.Log.Warn("the Service of a function pod cannot be made", "pod", pod.Name, "image", mem.pool.id.Image, "err", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m.createService(ctx, mem.pool, pod, service)
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
