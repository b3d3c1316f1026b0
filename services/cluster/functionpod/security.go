// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionpod

import corev1 "k8s.io/api/core/v1"

// nobody is the user and group of pods whose image names none.
const nobody = 65534

// Who pods of the function namespace run as: nobody, or whom the cluster assigns.
const (
	UserNobody   = "nobody"
	UserAssigned = "assigned"
)

// PodSecurity returns the security context of a pod that satisfies Pod Security "restricted", together with ContainerSecurity for
// each of its containers.
func PodSecurity() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(int64(nobody)), RunAsGroup: new(int64(nobody)), FSGroup: new(int64(nobody)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// AssignedPodSecurity returns the security context of PodSecurity without users and groups, for clusters that assign them.
func AssignedPodSecurity() *corev1.PodSecurityContext {
	security := PodSecurity()
	security.RunAsUser, security.RunAsGroup, security.FSGroup = nil, nil, nil
	return security
}

// ContainerSecurity returns the security context of a container; see PodSecurity.
func ContainerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
