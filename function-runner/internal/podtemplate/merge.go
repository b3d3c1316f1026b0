// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// merge merges the pod of a ConfigMap into the built-in template with a strategic merge patch: containers, volumes and variables by name,
// mounts by path. Null removes a field. Probes, volumes and variables of the ConfigMap replace those of the built-in template. The
// ConfigMap cannot remove what the wrapper server needs. Functions run as the image's user unless the ConfigMap sets a user.
func (t *Template) merge(cm *corev1.ConfigMap, builtIn *Template) error {
	text := []byte(cm.Data[podKey])
	if err := yaml.UnmarshalStrict(text, &corev1.Pod{}); err != nil {
		return fmt.Errorf("%w: without a command of container %q it is merged into the built-in template, and must be a valid Pod", err, FunctionContainer)
	}
	if err := t.checkNames(); err != nil {
		return err
	}
	patch, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	below, err := json.Marshal(builtIn.without(&t.Pod))
	if err != nil {
		return err
	}
	merged, err := strategicpatch.StrategicMergePatch(below, patch, corev1.Pod{})
	if err != nil {
		return fmt.Errorf("merge into the built-in template: %w", err)
	}
	given := t.Pod
	t.Pod = corev1.Pod{}
	if err := json.Unmarshal(merged, &t.Pod); err != nil {
		return fmt.Errorf("merge into the built-in template: %w", err)
	}
	t.restore(&builtIn.Pod)
	// The wrapper server's init container comes first, so that other init containers can use its files, and overrides of the init
	// container apply to it.
	slices.SortStableFunc(t.Pod.Spec.InitContainers, func(a, b corev1.Container) int { return order(a.Name) - order(b.Name) })
	t.Injected, t.imageUser = true, builtIn.imageUser && !namesUser(&given)
	return nil
}

// restore restores the fields that the wrapper server needs if null or an empty list in the ConfigMap has removed them.
func (t *Template) restore(from *corev1.Pod) {
	spec, ours, theirs := &t.Pod.Spec, t.function(), FunctionOf(from)
	ours.Command = theirs.Command
	ours.VolumeMounts = restored(ours.VolumeMounts, theirs.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == toolsVolume })
	spec.Volumes = restored(spec.Volumes, from.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == toolsVolume })
	spec.InitContainers = restored(spec.InitContainers, from.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == copyContainer })
}

// restored appends the wrapper server's elements of from to list, unless list has one.
func restored[T any](list, from []T, isOurs func(T) bool) []T {
	if slices.ContainsFunc(list, isOurs) {
		return list
	}
	for _, element := range from {
		if isOurs(element) {
			list = append(list, element)
		}
	}
	return list
}

func order(name string) int {
	if name == copyContainer {
		return 0
	}
	return 1
}

// checkNames rejects a template that uses the names or paths of the wrapper server.
func (t *Template) checkNames() error {
	const advice = "leave it out, so that the function runner injects the wrapper server, or give container %q a command that starts your own"
	for _, c := range t.Pod.Spec.InitContainers {
		if c.Name == copyContainer {
			return fmt.Errorf("it has the init container %s, but no command that starts a wrapper server: "+advice, c.Name, FunctionContainer)
		}
	}
	for _, v := range t.Pod.Spec.Volumes {
		if v.Name == toolsVolume {
			return fmt.Errorf("it has the volume %s, but no command that starts a wrapper server: "+advice, v.Name, FunctionContainer)
		}
	}
	for _, m := range t.function().VolumeMounts {
		if m.Name == toolsVolume || m.MountPath == ToolsDir || strings.HasPrefix(m.MountPath, ToolsDir+"/") {
			return fmt.Errorf("it mounts %s at %s, but has no command that starts a wrapper server: "+advice, m.Name, m.MountPath, FunctionContainer)
		}
	}
	return nil
}

// without returns a copy of the template's pod without the elements that another pod replaces. Merging both would, for example, give a
// volume two sources.
func (t *Template) without(given *corev1.Pod) *corev1.Pod {
	pod := t.Pod.DeepCopy()
	theirs, ours := FunctionOf(given), FunctionOf(pod)
	pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return slices.ContainsFunc(given.Spec.Volumes, func(g corev1.Volume) bool { return g.Name == v.Name })
	})
	ours.Env = slices.DeleteFunc(ours.Env, func(v corev1.EnvVar) bool {
		return slices.ContainsFunc(theirs.Env, func(g corev1.EnvVar) bool { return g.Name == v.Name })
	})
	if theirs.ReadinessProbe != nil {
		ours.ReadinessProbe = nil
	}
	if theirs.LivenessProbe != nil {
		ours.LivenessProbe = nil
	}
	return pod
}

// namesUser reports whether a pod sets the user of its function.
func namesUser(pod *corev1.Pod) bool {
	p, c := pod.Spec.SecurityContext, FunctionOf(pod).SecurityContext
	return p != nil && p.RunAsUser != nil || c != nil && c.RunAsUser != nil
}
