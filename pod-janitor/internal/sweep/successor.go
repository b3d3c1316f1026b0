// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/services/cluster/functionpod"
)

// successors returns the youngest ready pods of each function: that of one pool, and that of another.
func successors(pods []*corev1.Pod) map[string][]*corev1.Pod {
	byAge := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return !isFunction(pod) || pod.Annotations[functionpod.ReferenceAnnotation] == "" || !ready(pod)
	})
	slices.SortFunc(byAge, func(a, b *corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	found := map[string][]*corev1.Pod{}
	for _, pod := range byAge {
		image := pod.Annotations[functionpod.ReferenceAnnotation]
		if before := found[image]; len(before) == 0 || len(before) == 1 && pool(before[0]) != pool(pod) {
			found[image] = append(before, pod)
		}
	}
	return found
}

// successor returns the ready pod of another pool that was made after a pod, for the same function; nil where there is none.
func (s *sweeper) successor(pod *corev1.Pod) *corev1.Pod {
	for _, next := range s.successors[pod.Annotations[functionpod.ReferenceAnnotation]] {
		if pool(next) != pool(pod) && next.CreationTimestamp.After(pod.CreationTimestamp.Time) {
			return next
		}
	}
	return nil
}

func pool(pod *corev1.Pod) string { return pod.Labels[functionpod.PoolLabel] }

// ready tells whether a pod takes calls, as far as the kubelet knows.
func ready(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
		return false
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
