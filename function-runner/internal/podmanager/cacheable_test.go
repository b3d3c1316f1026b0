// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

func TestPoolIsCacheableUnlessPodsReadFromOutside(t *testing.T) {
	t.Parallel()
	secret := []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "a"}}}}
	configMap := []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "a"}}}}
	file := []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{Key: "a"}}}}
	own := []corev1.EnvVar{
		{Name: "A", Value: "a"},
		{Name: "B", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "C", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
	}
	from := []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{}}}
	mount := func(v corev1.VolumeSource) func(*corev1.PodSpec, *podtemplate.Values) {
		return func(spec *corev1.PodSpec, _ *podtemplate.Values) {
			spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "more", VolumeSource: v})
			spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "more", MountPath: "/more"})
		}
	}
	overrides := func(o functionconfig.Overrides) func(*corev1.PodSpec, *podtemplate.Values) {
		return func(_ *corev1.PodSpec, v *podtemplate.Values) { v.Overrides = &o }
	}
	for name, tc := range map[string]struct {
		change func(*corev1.PodSpec, *podtemplate.Values)
		want   bool
	}{
		"built-in template":        {func(*corev1.PodSpec, *podtemplate.Values) {}, true},
		"own environment":          {func(s *corev1.PodSpec, _ *podtemplate.Values) { s.Containers[0].Env = own }, true},
		"image by reference":       {func(_ *corev1.PodSpec, v *podtemplate.Values) { v.ByReference = true }, false},
		"variable of a Secret":     {func(s *corev1.PodSpec, _ *podtemplate.Values) { s.Containers[0].Env = secret }, false},
		"variable of a ConfigMap":  {func(s *corev1.PodSpec, _ *podtemplate.Values) { s.Containers[0].Env = configMap }, false},
		"variable of a file":       {func(s *corev1.PodSpec, _ *podtemplate.Values) { s.Containers[0].Env = file }, false},
		"environment of ConfigMap": {func(s *corev1.PodSpec, _ *podtemplate.Values) { s.Containers[0].EnvFrom = from }, false},
		"init container's environment": {func(s *corev1.PodSpec, _ *podtemplate.Values) {
			s.InitContainers = append(s.InitContainers, corev1.Container{EnvFrom: from})
		}, false},
		"sidecar's environment": {func(s *corev1.PodSpec, _ *podtemplate.Values) {
			s.Containers = append(s.Containers, corev1.Container{Env: secret})
		}, false},
		"overrides without references":              {overrides(functionconfig.Overrides{Container: functionconfig.ContainerOverrides{Env: own}}), true},
		"overrides: variable of a Secret":           {overrides(functionconfig.Overrides{Container: functionconfig.ContainerOverrides{Env: secret}}), false},
		"overrides: environment of a ConfigMap":     {overrides(functionconfig.Overrides{Container: functionconfig.ContainerOverrides{EnvFrom: from}}), false},
		"overrides: init container's Secret":        {overrides(functionconfig.Overrides{InitContainer: functionconfig.ContainerOverrides{Env: secret}}), false},
		"overrides: init container's own variables": {overrides(functionconfig.Overrides{InitContainer: functionconfig.ContainerOverrides{Env: own}}), true},
		"files of a Secret":                         {mount(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}), false},
		"files of a ConfigMap":                      {mount(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}), false},
		"files of several sources":                  {mount(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}), false},
		"files of a node":                           {mount(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}), false},
		"files of an image by tag":                  {mount(corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "r.io/policies:v1"}}), false},
		"files of an image by digest":               {mount(corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "r.io/policies@" + digest("a")}}), true},
		"empty directory":                           {mount(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}), true},
		"Secret that no container mounts": {func(s *corev1.PodSpec, _ *podtemplate.Values) {
			s.Volumes = append(s.Volumes, corev1.Volume{Name: "more", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, method := range []injection.Method{injection.InitContainer, injection.ImageVolume} {
				template, err := podtemplate.Default("r.io/wrapper:v1", method)
				if err != nil {
					t.Fatal(err)
				}
				values := &podtemplate.Values{Reference: fn}
				tc.change(&template.Pod.Spec, values)
				if got := isCacheable(&template.Pod.Spec, values); got != tc.want {
					t.Errorf("isCacheable() with wrapper injection %s = %v, want %v", method, got, tc.want)
				}
			}
		})
	}
}
