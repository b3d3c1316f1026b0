// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// HasImageVolume tells whether a pod has the wrapper server from an image volume.
func HasImageVolume(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == toolsVolume && v.Image != nil })
}

// RefusesImageVolume tells whether the reason and message for which a pod with an image volume does not start may be that
// its node cannot mount images: the container is not made, or has no wrapper server in it.
func RefusesImageVolume(reason, message string) bool {
	switch reason {
	case "CreateContainerError", "RunContainerError", "CreateContainerConfigError", "StartError", "ContainerCannotRun":
		return strings.Contains(message, ToolsDir) || strings.Contains(message, "mount") || strings.Contains(message, "volume")
	}
	return false
}
