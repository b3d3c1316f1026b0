// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/internal/cluster/podstatus"
)

const (
	// preemptionRetryInterval is the delay before looking again for idle pods to delete. firstPreemptionRetry is the first delay after a
	// quota was exceeded, because the watch may not yet show pods that other replicas have just created.
	preemptionRetryInterval = 500 * time.Millisecond
	firstPreemptionRetry    = 50 * time.Millisecond
	// schedulingTimeout is the maximum time until the scheduler uses the resources that a preemption has freed.
	schedulingTimeout = 5 * time.Second
	// maxPreemptions is the maximum number of times that a preemption frees the resources that a pod requests without any pod being
	// scheduled.
	maxPreemptions = 5
)

// preemption deletes idle pods of other pools for a pod that finds no node, or exceeds a quota, until the deleted pods have requested as
// much as the pod does.
type preemption struct {
	// need is what the pod requests. freed is what the pods requested that were deleted since the last attempt.
	need, freed corev1.ResourceList
	// since is when freed reached need. attempts counts how often freed reached need without any pod being scheduled.
	since    time.Time
	attempts int
	// problem is the error for callers if preemption does not help. exhausted reports that the callers have got it.
	problem   error
	exhausted bool
}

// onUnschedulable handles a pod that finds no node.
func (w *workload) onUnschedulable(mem *member, problem *podstatus.Problem) {
	// The pod uses no node, so that it does not need its warm-up slot. A cluster autoscaler should see all pods that need a node.
	mem.endTurn()
	err := notStarted(mem.object, problem)
	if len(w.platforms) > 0 && strings.Contains(problem.Message, "affinity") {
		err = fmt.Errorf("%w: image %s is built for %s, which a node must be", err, w.ID.Image, strings.Join(w.platforms, ", "))
	}
	if len(w.values.Patches) > 0 && (strings.Contains(problem.Message, "affinity") || strings.Contains(problem.Message, "taint")) {
		err = fmt.Errorf("%w: check nodeSelector, tolerations and affinity in the settings of function pods", err)
	}
	switch {
	case mem.preemption != nil && !mem.preemption.exhausted:
		mem.preemption.problem = err
	case mem.preemption != nil || !lacksResources(problem.Message):
		w.SetProblem(mem.Pod, err)
	default:
		mem.preemption = &preemption{need: requests(mem.object), freed: corev1.ResourceList{}, problem: err}
		w.m.spawn(func() { w.m.schedule(mem) })
	}
}

// lacksResources reports whether the scheduler's message names resources that deleting idle pods would free.
func lacksResources(message string) bool {
	return strings.Contains(message, "Insufficient ") || strings.Contains(message, "Too many pods")
}

// schedule preempts idle pods for a pod without a node. If that does not help, callers get the scheduler's message. schedule leaves a pod
// that another replica has requested to that replica, unless calls still wait for the pod here after schedulingTimeout.
func (m *Manager) schedule(mem *member) {
	ctx, cancel := context.WithTimeout(m.life, m.config.ReadyTimeout)
	defer cancel()
	if !mem.requested {
		sleep(ctx, schedulingTimeout)
	}
	for (mem.requested || mem.workload.Stats().Waiting > 0) && m.isUnschedulable(mem) && ctx.Err() == nil && m.preempt(ctx, mem, nil) {
		sleep(ctx, preemptionRetryInterval)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	mem.preemption.exhausted = true
	if state, _ := podstatus.Of(mem.object); state == podstatus.Unschedulable && mem.In(lifecycle.Starting) {
		mem.workload.SetProblem(mem.Pod, mem.preemption.problem)
	}
}

// isUnschedulable reports whether a pod still waits for a node.
func (m *Manager) isUnschedulable(mem *member) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	state, _ := podstatus.Of(mem.object)
	return state == podstatus.Unschedulable && mem.In(lifecycle.Starting)
}

// preempt deletes idle pods of other pools for a pod, the least recently used first, until they have requested as much as the pod does.
// It deletes none if all together have not. quota is what the pod requests if it exceeds a quota, and nil if the pod needs a node.
// preempt reports whether to wait and try again, because the pod may get the freed resources, or pods of other pools may become idle.
func (m *Manager) preempt(ctx context.Context, mem *member, quota corev1.ResourceList) bool {
	m.mu.Lock()
	if quota != nil && mem.object != nil {
		// Another replica has created the pod meanwhile.
		m.mu.Unlock()
		return false
	}
	if mem.preemption == nil {
		mem.preemption = &preemption{need: quota, freed: corev1.ResourceList{}}
	}
	r := mem.preemption
	if r.isPending() {
		m.mu.Unlock()
		return true
	}
	if quota == nil && r.isComplete() && !m.scheduled.After(r.since) {
		// The freed resources did not help. They may be on several nodes.
		r.attempts++
	}
	if r.isComplete() {
		r.freed = corev1.ResourceList{}
	}
	spare, others := m.spare(mem.workload)
	sum := maps.Clone(r.freed)
	for _, idle := range spare {
		add(sum, idle.requests)
	}
	m.mu.Unlock()
	switch {
	case r.attempts >= maxPreemptions:
		return false
	case !covers(sum, r.need):
		return others > 0
	}
	for _, idle := range spare {
		deleted, err := m.expire(ctx, idle.member, "preempted")
		if err != nil || deleted && m.freed(r, idle.requests) {
			// Retry when the API server does not answer.
			return true
		}
	}
	return true
}

// isComplete reports whether the deleted pods have requested as much as the pod does.
func (r *preemption) isComplete() bool { return covers(r.freed, r.need) }

// isPending reports whether the pod may still get the freed resources.
func (r *preemption) isPending() bool {
	return r.isComplete() && time.Since(r.since) < schedulingTimeout
}

// freed adds the requests of a deleted pod, and reports whether they now suffice.
func (m *Manager) freed(r *preemption, requests corev1.ResourceList) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	add(r.freed, requests)
	if !r.isComplete() {
		return false
	}
	r.since = time.Now()
	return true
}

// idlePod is a pod that can be deleted.
type idlePod struct {
	*member
	since    time.Time
	requests corev1.ResourceList
}

// spare returns the idle pods of other pools, the least recently used first, and the number of running calls, terminating pods and
// promising pods of other pools, which may free resources later.
func (m *Manager) spare(except *workload) (spare []idlePod, others int) {
	for _, w := range m.workloads {
		if w == except {
			continue
		}
		for _, mem := range w.members {
			if mem.In(lifecycle.Expiring, lifecycle.Leaving) || mem.isPromising() {
				others++
			}
		}
		others += w.Stats().Running
		for _, idle := range w.Spare(w.lastNoted) {
			if mem := w.members[idle.Pod.Ordinal]; mem != nil && mem.object != nil {
				spare = append(spare, idlePod{mem, idle.Since, requests(mem.object)})
			}
		}
	}
	slices.SortFunc(spare, func(a, b idlePod) int { return a.since.Compare(b.since) })
	return spare, others
}

// isPromising reports whether a pod may become ready and then idle, because it does not need a preemption itself.
func (mem *member) isPromising() bool {
	switch mem.State() {
	case lifecycle.Requested:
		return mem.preemption == nil
	case lifecycle.Starting:
		state, _ := podstatus.Of(mem.object)
		return state == podstatus.Pending
	}
	return false
}

// requests returns the sum of the resource requests of a pod's containers, and one pod.
func requests(pod *corev1.Pod) corev1.ResourceList {
	sum := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
	for _, c := range pod.Spec.Containers {
		add(sum, c.Resources.Requests)
	}
	return sum
}

func add(sum, more corev1.ResourceList) {
	for name, quantity := range more {
		total := sum[name]
		total.Add(quantity)
		sum[name] = total
	}
}

func covers(have, need corev1.ResourceList) bool {
	for name, quantity := range need {
		if had := have[name]; had.Cmp(quantity) < 0 {
			return false
		}
	}
	return true
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
