// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionpod

import corev1 "k8s.io/api/core/v1"

// nobody is the user and group ID of pods whose image names no user.
const nobody = 65534

// User IDs of pods in the function namespace: nobody, or assigned by the cluster.
const (
	UserNobody   = "nobody"
	UserAssigned = "assigned"
)

// PodSecurity returns a pod security context that satisfies the Pod Security Standard "restricted" if every container has
// ContainerSecurity.
func PodSecurity() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(int64(nobody)), RunAsGroup: new(int64(nobody)), FSGroup: new(int64(nobody)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// AssignedPodSecurity is PodSecurity without user and group IDs, for clusters that assign them.
func AssignedPodSecurity() *corev1.PodSecurityContext {
	security := PodSecurity()
	security.RunAsUser, security.RunAsGroup, security.FSGroup = nil, nil, nil
	return security
}

// ContainerSecurity returns the security context for the containers of a pod with PodSecurity.
func ContainerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
