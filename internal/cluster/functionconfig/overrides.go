// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import corev1 "k8s.io/api/core/v1"

// Overrides replace fields of the pod template. Unset fields do not change the template. Overrides are immutable.
type Overrides struct {
	// ServiceAccountName is the service account of the pod.
	ServiceAccountName string
	// SecurityContext is the security context of the pod. If it is set, the image's user is not used.
	SecurityContext *corev1.PodSecurityContext
	// InitContainer applies to the first init container, and Container applies to the function's container.
	InitContainer, Container ContainerOverrides
}

// ContainerOverrides are the overrides of one container. They replace whole fields of the template without merging.
type ContainerOverrides struct {
	// Requests and Limits are the container's resources.
	Requests, Limits corev1.ResourceList
	EnvFrom          []corev1.EnvFromSource
	Env              []corev1.EnvVar
}

// IsZero reports whether no field is set. An empty list or map counts as set, because it clears the field of the template.
func (o *ContainerOverrides) IsZero() bool {
	return o.Requests == nil && o.Limits == nil && o.EnvFrom == nil && o.Env == nil
}

func (s section) overrides(name string) *Overrides {
	own, ok := s.section(name)
	if !ok {
		return nil
	}
	o := &Overrides{ServiceAccountName: own.text("serviceAccountName")}
	own.typed("securityContext", &o.SecurityContext)
	o.InitContainer, o.Container = own.container("initContainer"), own.container("container")
	if o.ServiceAccountName == "" && o.SecurityContext == nil && o.InitContainer.IsZero() && o.Container.IsZero() {
		return nil
	}
	return o
}

func (s section) container(name string) (o ContainerOverrides) {
	own, ok := s.section(name)
	if !ok {
		return o
	}
	if resources, ok := own.section("resources"); ok {
		resources.typed("requests", &o.Requests)
		resources.typed("limits", &o.Limits)
	}
	own.typed("envFrom", &o.EnvFrom)
	own.typed("env", &o.Env)
	return o
}
