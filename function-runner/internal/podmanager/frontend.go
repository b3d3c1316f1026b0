// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
)

// Frontend says how function pods are reached.
type Frontend string

const (
	// Auto reaches pods by their addresses, but those with the sidecar of a service mesh by their Services: a mesh knows
	// Services, and may refuse what does not come by way of one.
	Auto Frontend = "auto"
	// ByService reaches all by their Services.
	ByService Frontend = "service"
	// ByPodIP reaches all by their addresses.
	ByPodIP Frontend = "pod-ip"
)

// sidecars are the names of the containers that meshes add to pods.
var sidecars = []string{"istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane", "envoy-sidecar"}

// target returns the gRPC target of a pod that has an address.
func (f Frontend) target(pod *corev1.Pod) string {
	port := strconv.Itoa(podtemplate.Port)
	if f == ByService || f == Auto && meshed(pod) {
		return fmt.Sprintf("dns:///%s.%s.svc:%s", pod.Name, pod.Namespace, port)
	}
	return "passthrough:///" + net.JoinHostPort(pod.Status.PodIP, port)
}

func meshed(pod *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return slices.Contains(sidecars, c.Name)
	})
}
