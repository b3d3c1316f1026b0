// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/podstatus"
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

// connect keeps the connection to a pod that has an address, until the pod has gone.
func (p *Pool) connect(mem *member) {
	if mem.disconnect != nil {
		return
	}
	mem.addressed = time.Now()
	var ctx context.Context
	ctx, mem.disconnect = context.WithCancel(p.m.life)
	pod, target := mem.pod.Name, p.m.config.Frontend.target(mem.pod)
	p.m.spawn(func() {
		e, err := endpoint.Dial(pod, target, p.m.config.Endpoint)
		if err != nil {
			p.m.fail(ctx, p, mem, "unreachable", err)
			return
		}
		defer e.Close() //nolint:errcheck // nothing is lost with it
		for e.Ready(ctx) == nil {
			if p.awaitLoss(ctx, mem, e) {
				p.m.becameLost(p, mem)
			}
		}
	})
}

// awaitLoss makes a pod ready, waits until it must be probed again, and tells whether that is because it cannot be reached.
func (p *Pool) awaitLoss(ctx context.Context, mem *member, e *endpoint.Endpoint) bool {
	ctx, probe := context.WithCancel(ctx)
	defer probe()
	p.m.becameReady(p, mem, e, probe)
	return e.Lost(ctx) == nil
}

// Probe says that the pod of a place did not take a call. The pod gets no calls until its health check succeeds again.
func (p *Pool) Probe(place *Place) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	mem := p.members[place.Slot]
	if mem == nil || !mem.ready || mem.pod.Name != place.Endpoint.Pod {
		return
	}
	mem.ready = false
	p.pool.Starting(mem.slot)
	mem.probe()
}

func (m *Manager) becameReady(p *Pool, mem *member, e *endpoint.Endpoint, probe context.CancelFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mem.leaving {
		return
	}
	if !mem.served {
		m.config.Log.Info("function pod ready", "pod", mem.pod.Name, "image", p.id.Image, "node", mem.pod.Spec.NodeName, "after", time.Since(mem.seen))
		m.metrics.started(m.life, p.id.Image, mem)
	}
	mem.deadline.Stop()
	mem.ready, mem.served, mem.lost, mem.probe = true, true, time.Time{}, probe
	p.pool.Ready(mem.slot, e)
}

func (m *Manager) becameLost(p *Pool, mem *member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mem.leaving {
		return
	}
	m.config.Log.Warn("function pod does not answer any more", "pod", mem.pod.Name, "image", p.id.Image)
	mem.ready, mem.lost = false, time.Now()
	p.pool.Starting(mem.slot)
}

// startTimedOut gives up a pod that does not get ready in time.
func (m *Manager) startTimedOut(p *Pool, mem *member) {
	m.mu.RLock()
	ready, pod := mem.ready || mem.leaving, mem.pod
	m.mu.RUnlock()
	if !ready {
		m.fail(m.life, p, mem, "not-ready", notReady(pod, m.config.ReadyTimeout))
	}
}

// notReady returns the error for a pod that takes too long.
func notReady(pod *corev1.Pod, timeout time.Duration) error {
	_, problem := podstatus.Of(pod)
	if problem != nil {
		return fmt.Errorf("the pod ready timeout of %v (--pod-ready-timeout) is over: %w", timeout, notStarted(pod, problem))
	}
	return fmt.Errorf("function pod %s is not ready within the pod ready timeout of %v (--pod-ready-timeout): it %s", pod.Name, timeout, podstatus.Progress(pod))
}
