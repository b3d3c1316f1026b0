// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Overrides take the place of what the template says. What is not set is left to the template. They are not changed.
type Overrides struct {
	// ServiceAccountName is whom the pod runs as.
	ServiceAccountName string
	// SecurityContext is the pod's. The image's own user is left to it.
	SecurityContext *corev1.PodSecurityContext
	// InitContainer is for the first init container, and Container for the function's.
	InitContainer, Container ContainerOverrides
}

// ContainerOverrides are those of one container. Nothing in them is merged with what the template says.
type ContainerOverrides struct {
	// Requests and Limits are of its resources.
	Requests, Limits corev1.ResourceList
	EnvFrom          []corev1.EnvFromSource
	Env              []corev1.EnvVar
}

// IsZero tells whether nothing is set. What is empty is: it leaves nothing of what the template says.
func (o *ContainerOverrides) IsZero() bool {
	return o.Requests == nil && o.Limits == nil && o.EnvFrom == nil && o.Env == nil
}

// HasInitContainer tells whether pods have an init container.
func (t *Template) HasInitContainer() bool { return len(t.Pod.Spec.InitContainers) > 0 }

// apply changes a pod. What is for an init container has no effect where there is none.
func (o *Overrides) apply(pod *corev1.Pod) {
	if o.ServiceAccountName != "" {
		pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = o.ServiceAccountName, ""
	}
	if o.SecurityContext != nil {
		pod.Spec.SecurityContext = o.SecurityContext.DeepCopy()
	}
	if len(pod.Spec.InitContainers) > 0 {
		o.InitContainer.apply(&pod.Spec.InitContainers[0])
	}
	o.Container.apply(FunctionOf(pod))
}

func (o *ContainerOverrides) apply(c *corev1.Container) {
	if o.Requests != nil {
		c.Resources.Requests = o.Requests.DeepCopy()
	}
	if o.Limits != nil {
		c.Resources.Limits = o.Limits.DeepCopy()
	}
	if o.EnvFrom != nil {
		c.EnvFrom = slices.Clone(o.EnvFrom)
	}
	if o.Env != nil {
		c.Env = slices.Clone(o.Env)
	}
}
