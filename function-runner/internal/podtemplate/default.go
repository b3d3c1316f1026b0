// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	_ "embed"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

// Names of the volume with the wrapper server, and of the init container that fills the volume if it is not an image volume.
const (
	toolsVolume   = "wrapper-server-tools"
	copyContainer = "copy-wrapper-server"
)

//go:embed default.yaml
var defaultTemplate []byte

// Default returns the built-in template. The wrapper server gets env, but functions do not.
func Default(wrapperImage string, method injection.Method, env ...corev1.EnvVar) (*Template, error) {
	var parts struct {
		Pod           corev1.Pod
		InitContainer corev1.Container
		Service       corev1.Service
	}
	if err := yaml.UnmarshalStrict(defaultTemplate, &parts); err != nil {
		return nil, fmt.Errorf("read the built-in function pod template: %w", err)
	}
	t := &Template{Pod: parts.Pod, Service: parts.Service, Injected: true, imageUser: true}
	spec, function := &t.Pod.Spec, t.function()
	spec.SecurityContext, function.SecurityContext = functionpod.PodSecurity(), functionpod.ContainerSecurity()
	function.Env = append(slices.DeleteFunc(function.Env, func(v corev1.EnvVar) bool {
		return slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == v.Name })
	}), env...)
	tools := corev1.Volume{Name: toolsVolume}
	if method == injection.ImageVolume {
		tools.Image = &corev1.ImageVolumeSource{Reference: wrapperImage}
		function.Command = []string{ToolsDir + injection.ImageDir + "/wrapper-server"}
	} else {
		tools.EmptyDir = &corev1.EmptyDirVolumeSource{}
		parts.InitContainer.Image, parts.InitContainer.SecurityContext = wrapperImage, functionpod.ContainerSecurity()
		spec.InitContainers = []corev1.Container{parts.InitContainer}
		function.Command = []string{ToolsDir + "/wrapper-server"}
	}
	spec.Volumes = append(spec.Volumes, tools)
	return t.versioned()
}

// WithAssignedUser returns a copy of the template that leaves the choice of the user to admission, such as OpenShift's security context
// constraints.
func (t *Template) WithAssignedUser() (*Template, error) {
	assigned := &Template{Pod: *t.Pod.DeepCopy(), Service: t.Service, Injected: true}
	assigned.Pod.Spec.SecurityContext = functionpod.AssignedPodSecurity()
	return assigned.versioned()
}

// HasImageVolume reports whether a pod mounts the wrapper server from an image volume.
func HasImageVolume(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == toolsVolume && v.Image != nil })
}
