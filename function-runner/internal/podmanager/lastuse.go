// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/services/functionpod"
)

// lastUse returns when any replica has last noted a use of a pod, or when it was made.
func lastUse(pod *corev1.Pod) time.Time {
	if last, err := time.Parse(time.RFC3339, pod.Annotations[functionpod.LastUseAnnotation]); err == nil {
		return last
	}
	return pod.CreationTimestamp.Time
}
