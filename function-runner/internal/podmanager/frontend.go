// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
)

// Frontend controls how the function runner reaches function pods.
type Frontend string

const (
	// Auto reaches pods by their addresses, except pods with the sidecar of a service mesh, which it reaches by their Services: a mesh
	// knows Services, and may reject traffic to other addresses.
	Auto Frontend = "auto"
	// ByService reaches all pods by their Services.
	ByService Frontend = "service"
	// ByPodIP reaches all pods by their addresses.
	ByPodIP Frontend = "pod-ip"
)

// sidecars are the names of the containers that service meshes add to pods.
var sidecars = []string{"istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane", "envoy-sidecar"}

// target returns the gRPC target of a pod that has an address.
func (f Frontend) target(pod *corev1.Pod) string {
	port := strconv.Itoa(podtemplate.Port)
	if f.byService(pod) {
		return fmt.Sprintf("dns:///%s.%s.svc:%s", pod.Name, pod.Namespace, port)
	}
	return "passthrough:///" + net.JoinHostPort(pod.Status.PodIP, port)
}

func meshed(pod *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return slices.Contains(sidecars, c.Name)
	})
}

// byService reports whether a pod is reached by its Service.
func (f Frontend) byService(pod *corev1.Pod) bool { return f == ByService || f == Auto && meshed(pod) }

// healService creates the Service of a pod again, in case it was deleted.
func (m *Manager) healService(ctx context.Context, mem *member, pod *corev1.Pod) {
	_, service, err := m.build(ctx, mem.workload, mem.Ordinal)
	if err != nil {
		m.config.Log.Warn("the Service of a function pod cannot be made", "pod", pod.Name, "image", mem.workload.ID.Image, "err", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m.createService(ctx, mem.workload, pod, service)
}

// createService creates the Service of a pod. The pod owns the Service, so that the garbage collector deletes it with the pod.
func (m *Manager) createService(ctx context.Context, w *workload, pod *corev1.Pod, service *corev1.Service) {
	service.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}
	services := m.config.Client.Services
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
			// The Service belongs to an earlier pod of this name. Deleting it is faster than waiting for the garbage collector.
			_ = services.Delete(ctx, service.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &existing.UID}})
		}
		return nil, apierrors.NewTooManyRequests("the Service of an earlier pod is being deleted", 0)
	})
	if err != nil {
		m.config.Log.Warn("the Service of a function pod cannot be made", "pod", pod.Name, "image", w.ID.Image, "err", err)
	}
}

func owned(service *corev1.Service, pod *corev1.Pod) bool {
	return slices.ContainsFunc(service.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == pod.UID })
}
