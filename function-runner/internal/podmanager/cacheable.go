// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// Cacheable reports whether the result cache can store results of a pool under its identity: a function in these pods must not read
// anything that can change while the identity stays the same. Examples are images by reference, environment variables from Secrets and
// ConfigMaps, and mounted volumes with files from outside the pod.
func (m *Manager) Cacheable(p *pool.Pool) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	w := m.workloads[p.ID]
	return w != nil && w.template != nil && isCacheable(&w.template.Pod.Spec, &w.values)
}

// isCacheable implements Cacheable for a template's pod and the values of a function. It considers all containers, because init
// containers and sidecars can pass on what they read, and also the fields that overrides replace. Patches cannot set any of these fields.
func isCacheable(spec *corev1.PodSpec, v *podtemplate.Values) bool {
	if v.ByReference {
		return false
	}
	if o := v.Overrides; o != nil && (hasExternalEnv(o.InitContainer.EnvFrom, o.InitContainer.Env) || hasExternalEnv(o.Container.EnvFrom, o.Container.Env)) {
		return false
	}
	isExternal := func(c corev1.Container) bool { return hasExternalEnv(c.EnvFrom, c.Env) || hasExternalFiles(spec, &c) }
	return !slices.ContainsFunc(spec.InitContainers, isExternal) && !slices.ContainsFunc(spec.Containers, isExternal)
}

// hasExternalEnv reports whether environment variables come from outside the pod. References to the pod's own fields do not count.
func hasExternalEnv(from []corev1.EnvFromSource, env []corev1.EnvVar) bool {
	return len(from) > 0 || slices.ContainsFunc(env, func(v corev1.EnvVar) bool {
		return v.ValueFrom != nil && v.ValueFrom.FieldRef == nil && v.ValueFrom.ResourceFieldRef == nil
	})
}

// hasExternalFiles reports whether a container mounts files that the pod's specification does not determine. Empty directories and images
// by digest hold no such files. The wrapper server's own volume does not count.
func hasExternalFiles(spec *corev1.PodSpec, c *corev1.Container) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.MountPath != podtemplate.ToolsDir && !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
			return v.Name == m.Name && (v.EmptyDir != nil || v.Image != nil && strings.Contains(v.Image.Reference, "@"))
		})
	})
}
