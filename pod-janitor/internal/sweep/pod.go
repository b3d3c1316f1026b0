// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/services/cluster/functionpod"
)

// functionPod decides on a pod of a function runner.
func (s *sweeper) functionPod(pod *corev1.Pod) verdict {
	image := imageOf(pod)
	if v := s.leaving(pod); v.reason != "" {
		return v
	}
	if s.rules.All {
		return all(pod, imageOf(pod))
	}
	if v := s.ended(pod); v.reason != "" {
		return v
	}
	last, err := s.lastUse(pod)
	if err != nil {
		return uncertain(err, image, last)
	}
	ttl, err := s.ttl(pod)
	switch {
	case err != nil:
		return uncertain(err, image, last)
	case s.young(pod):
		return verdict{}
	case s.expired(last, ttl):
		return verdict{delete: true, reason: Expired, detail: fmt.Sprintf("may be idle for %v", ttl), image: image, since: last}
	}
	next := s.successor(pod)
	// What is noted of the last use is up to a quarter of the time to live old, and a scan: so long again is to spare.
	if next == nil || !s.lasted(last, plus(ttl/2, s.rules.Grace)) {
		return verdict{}
	}
	detail := "older image than " + next.Name
	if next.Annotations[functionpod.TemplateAnnotation] != pod.Annotations[functionpod.TemplateAnnotation] {
		detail = "older template than " + next.Name
	}
	return verdict{delete: true, reason: Superseded, detail: detail, image: image, since: last}
}

// warmerPod decides on a pod of the image warmer.
func (s *sweeper) warmerPod(pod *corev1.Pod) verdict {
	if v := s.leaving(pod); v.reason != "" {
		return v
	}
	if s.rules.All {
		return all(pod, imageOf(pod))
	}
	if v := s.ended(pod); v.reason != "" {
		return v
	}
	made := pod.CreationTimestamp.Time
	if s.young(pod) || !s.lasted(made, s.rules.WarmerTTL) {
		return verdict{}
	}
	return verdict{delete: true, reason: Expired, detail: fmt.Sprintf("may take %v", s.rules.WarmerTTL), image: imageOf(pod), since: made}
}

// leaving tells of a pod that should have ended. To delete it once more would do nothing, and to force it might leave its
// processes running. The time of the deletion is when the pod is to have ended: what it was granted for that is in it.
func (s *sweeper) leaving(pod *corev1.Pod) verdict {
	if pod.DeletionTimestamp == nil || !s.lasted(pod.DeletionTimestamp.Time, s.rules.Grace) {
		return verdict{}
	}
	detail := "on node " + pod.Spec.NodeName
	switch {
	case len(pod.Finalizers) > 0:
		detail = fmt.Sprintf("has finalizers: %q", pod.Finalizers)
	case pod.Spec.NodeName == "":
		detail = "on no node"
	}
	return verdict{reason: Stuck, detail: detail, image: imageOf(pod), since: pod.DeletionTimestamp.Time}
}

// ended decides on a pod that runs no more.
func (s *sweeper) ended(pod *corev1.Pod) verdict {
	var reason Reason
	switch pod.Status.Phase {
	case corev1.PodFailed:
		reason = Failed
	case corev1.PodSucceeded:
		reason = Finished
	default:
		return verdict{}
	}
	since := finishedAt(pod)
	if s.young(pod) || !s.lasted(since, s.rules.Grace) {
		return verdict{}
	}
	return verdict{delete: true, reason: reason, detail: pod.Status.Reason, image: imageOf(pod), since: since}
}

// finishedAt returns when the last container of a pod ended; of one that had none, when the pod was made.
func finishedAt(pod *corev1.Pod) time.Time {
	last := pod.CreationTimestamp.Time
	for _, statuses := range [][]corev1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses,
	} {
		for _, status := range statuses {
			if t := status.State.Terminated; t != nil && t.FinishedAt.After(last) {
				last = t.FinishedAt.Time
			}
		}
	}
	return last
}

// expired tells whether a pod has been idle for longer than twice its time to live: a function runner that lives would have
// deleted it, or noted that it keeps it.
func (s *sweeper) expired(last time.Time, ttl time.Duration) bool {
	return s.lasted(last, plus(plus(ttl, ttl), s.rules.Grace))
}

// plus adds durations. A sum that is too large for one stays the largest, where it would turn negative, and all pods be old.
func plus(a, b time.Duration) time.Duration {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// imageOf returns the image of a pod as it was asked for, or as it runs.
func imageOf(pod *corev1.Pod) string {
	if reference := pod.Annotations[functionpod.ReferenceAnnotation]; reference != "" {
		return reference
	}
	if len(pod.Spec.Containers) > 0 {
		return pod.Spec.Containers[0].Image
	}
	return ""
}
