// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/podstatus"
)

// pod decides on a pod of a function runner or of the image warmer.
func (s *sweeper) pod(pod *corev1.Pod) Decision {
	var d Decision
	switch {
	case s.stuck(pod, &d):
	case s.rules.All:
		d = all(pod)
	case s.ended(pod, &d):
	case isFunction(pod):
		d = s.functionPod(pod)
	default:
		d = s.warmerPod(pod)
	}
	d.Image = pod.Annotations[functionpod.ReferenceAnnotation]
	if d.Image == "" && len(pod.Spec.Containers) > 0 {
		d.Image = pod.Spec.Containers[0].Image
	}
	return d
}

// functionPod decides on a running pod of a function runner.
func (s *sweeper) functionPod(pod *corev1.Pod) Decision {
	last, err := s.lastUse(pod)
	if err != nil {
		return uncertain(err, last)
	}
	ttl, err := s.ttl(pod)
	switch {
	case err != nil:
		return uncertain(err, last)
	case s.young(pod):
		return Decision{}
	// Within twice the time to live, a live function runner would have deleted the pod, or recorded that it keeps the pod.
	case s.lasted(last, plus(plus(ttl, ttl), s.rules.Grace)):
		return Decision{Delete: true, Reason: Expired, Detail: fmt.Sprintf("may be idle for %v", ttl), Since: last}
	}
	next := s.successor(pod)
	// The recorded last use is late by up to a quarter of the time to live and a scan. Twice that is safe.
	if next == nil || !s.lasted(last, plus(ttl/2, s.rules.Grace)) {
		return Decision{}
	}
	detail := "older image than " + next.Name
	if next.Annotations[functionpod.TemplateAnnotation] != pod.Annotations[functionpod.TemplateAnnotation] {
		detail = "older template than " + next.Name
	}
	return Decision{Delete: true, Reason: Superseded, Detail: detail, Since: last}
}

// warmerPod decides on a running pod of the image warmer.
func (s *sweeper) warmerPod(pod *corev1.Pod) Decision {
	created := pod.CreationTimestamp.Time
	if s.young(pod) || !s.lasted(created, s.rules.WarmerTTL) {
		return Decision{}
	}
	return Decision{Delete: true, Reason: Expired, Detail: fmt.Sprintf("may run for %v", s.rules.WarmerTTL), Since: created}
}

// stuck reports whether a pod should have ended by now, and sets the decision. A second deletion would have no effect, and a forced one
// could leave its processes running. The deletion timestamp includes the pod's grace period.
func (s *sweeper) stuck(pod *corev1.Pod, d *Decision) bool {
	if pod.DeletionTimestamp == nil || !s.lasted(pod.DeletionTimestamp.Time, s.rules.Grace) {
		return false
	}
	*d = Decision{Reason: Stuck, Detail: "on node " + pod.Spec.NodeName, Since: pod.DeletionTimestamp.Time}
	switch {
	case len(pod.Finalizers) > 0:
		d.Detail = fmt.Sprintf("has finalizers: %q", pod.Finalizers)
	case pod.Spec.NodeName == "":
		d.Detail = "on no node"
	}
	return true
}

// ended reports whether a pod ended long enough ago to be deleted, and sets the decision.
func (s *sweeper) ended(pod *corev1.Pod, d *Decision) bool {
	reason := map[corev1.PodPhase]Reason{corev1.PodFailed: Failed, corev1.PodSucceeded: Finished}[pod.Status.Phase]
	since := finishedAt(pod)
	if reason == "" || s.young(pod) || !s.lasted(since, s.rules.Grace) {
		return false
	}
	*d = Decision{Delete: true, Reason: reason, Detail: pod.Status.Reason, Since: since}
	return true
}

// finishedAt returns the time when the last container of a pod ended, or the creation time of a pod without containers.
func finishedAt(pod *corev1.Pod) time.Time {
	last := pod.CreationTimestamp.Time
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses) {
		if t := status.State.Terminated; t != nil && t.FinishedAt.After(last) {
			last = t.FinishedAt.Time
		}
	}
	return last
}

// plus adds durations. If the sum overflows, it returns the maximum duration, because a negative one would make all pods expire.
func plus(a, b time.Duration) time.Duration {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// successors returns the youngest ready pods of each function, from at most two pools, one pod from each.
func successors(pods []*corev1.Pod) map[string][]*corev1.Pod {
	youngestFirst := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return !isFunction(pod) || pod.Annotations[functionpod.ReferenceAnnotation] == "" || !ready(pod)
	})
	slices.SortFunc(youngestFirst, func(a, b *corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	found := map[string][]*corev1.Pod{}
	for _, pod := range youngestFirst {
		image := pod.Annotations[functionpod.ReferenceAnnotation]
		if before := found[image]; len(before) == 0 || len(before) == 1 && pool(before[0]) != pool(pod) {
			found[image] = append(before, pod)
		}
	}
	return found
}

// successor returns a younger ready pod of the same function in another pool; nil if there is none.
func (s *sweeper) successor(pod *corev1.Pod) *corev1.Pod {
	for _, next := range s.successors[pod.Annotations[functionpod.ReferenceAnnotation]] {
		if pool(next) != pool(pod) && next.CreationTimestamp.After(pod.CreationTimestamp.Time) {
			return next
		}
	}
	return nil
}

// pool returns the pool of a pod.
func pool(pod *corev1.Pod) string { return pod.Labels[functionpod.PoolLabel] }

// ready reports whether a pod is ready for calls, according to the kubelet.
func ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning && podstatus.Ready(pod)
}
