// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	corev1 "k8s.io/api/core/v1"
)

// Change changes a pod, as scheduler and kubelet do. A pod that has gone is left alone.
func (c *Cluster) Change(name string, change func(*corev1.Pod)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pod, ok := c.objects[pods][name].(*corev1.Pod); ok {
		changed := pod.DeepCopy()
		change(changed)
		c.change(pods, changed)
	}
}

// Run gives a pod a node and an address, starts its wrapper server and says that it is ready.
func (c *Cluster) Run(name string) {
	w := newWrapper(c.network.address())
	c.mu.Lock()
	pod := c.objects[pods][name]
	if pod == nil || pod.GetDeletionTimestamp() != nil || c.wrappers[name] != nil {
		c.mu.Unlock()
		return
	}
	c.wrappers[name] = w
	c.mu.Unlock()
	w.Start(c)
	c.Change(name, func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.PodIP, p.Status.Phase = "node", w.IP, corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "function", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		setReady(p, corev1.ConditionTrue)
	})
}

// Ready says whether the kubelet holds a pod for ready.
func (c *Cluster) Ready(name string, status corev1.ConditionStatus) {
	c.Change(name, func(p *corev1.Pod) { setReady(p, status) })
}

func setReady(p *corev1.Pod, status corev1.ConditionStatus) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
}

// Waits says that the function's container waits, and why.
func (c *Cluster) Waits(name, reason, message string) {
	c.Change(name, func(p *corev1.Pod) {
		p.Spec.NodeName = "node"
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "function", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
		}}}
	})
}

// Wrapper returns the wrapper server of a pod; nil where none runs.
func (c *Cluster) Wrapper(name string) *Wrapper {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrappers[name]
}

// terminate has a pod end as one does that is deleted: its wrapper server finishes what it runs and takes nothing new.
func (c *Cluster) terminate(name string) {
	if w := c.Wrapper(name); w != nil {
		w.Drain()
		w.Kill()
	}
	c.set(func() { c.remove(name) })
}
