// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/services/cluster/functionpod"
)

// lastUse returns when any replica has last noted a use of a pod, or when it was made.
func lastUse(pod *corev1.Pod) time.Time {
	if last, err := time.Parse(time.RFC3339, pod.Annotations[functionpod.LastUseAnnotation]); err == nil {
		return last
	}
	return pod.CreationTimestamp.Time
}

// notedTTL returns how long a pod may be idle as far as others know, otherwise where it does not say.
func notedTTL(pod *corev1.Pod, otherwise time.Duration) time.Duration {
	if ttl, err := time.ParseDuration(pod.Annotations[functionpod.TTLAnnotation]); err == nil {
		return ttl
	}
	return otherwise
}
