// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

// Overrides replace fields of the pod, of the function's container and of the init container, and change nothing else.
func TestOverrides(t *testing.T) {
	t.Parallel()
	template, err := podtemplate.Parse(configMap(porchTemplate, porchService), nil)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := build(t, template, function())
	env := []corev1.EnvVar{{Name: "A", Value: "1"}}
	forged := append(slices.Clone(env), corev1.EnvVar{Name: "KRMFN_POD_UID", Value: "forged"})
	from := []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}}}
	for name, tc := range map[string]struct {
		overrides functionconfig.Overrides
		change    func(pod *corev1.Pod)
	}{
		"nothing":         {change: func(*corev1.Pod) {}},
		"service account": {functionconfig.Overrides{ServiceAccountName: "sa"}, func(pod *corev1.Pod) { pod.Spec.ServiceAccountName = "sa" }},
		"security context": {
			functionconfig.Overrides{SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(5))}},
			func(pod *corev1.Pod) { pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(5))} },
		},
		"container": {
			functionconfig.Overrides{Container: functionconfig.ContainerOverrides{Requests: cpu("1"), Limits: cpu("2"), Env: forged, EnvFrom: from}},
			func(pod *corev1.Pod) {
				c := &pod.Spec.Containers[1]
				c.Resources = corev1.ResourceRequirements{Requests: cpu("1"), Limits: cpu("2")}
				c.Env, c.EnvFrom = slices.Concat(env, identity), from
			},
		},
		"init container": {
			functionconfig.Overrides{InitContainer: functionconfig.ContainerOverrides{Requests: cpu("1"), Env: env}},
			func(pod *corev1.Pod) {
				c := &pod.Spec.InitContainers[0]
				c.Resources.Requests, c.Env = cpu("1"), env
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := function()
			f.Overrides = &tc.overrides
			want := before.DeepCopy()
			tc.change(want)
			got, _ := build(t, template, f)
			if got.Annotations["fn.kpt.dev/template-version"] == want.Annotations["fn.kpt.dev/template-version"] {
				t.Error("VersionFor() is the same with the overrides")
			}
			want.Annotations = got.Annotations
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

// Overrides replace fields of the template without merging. A function's own resources override them, and a security context in the
// overrides disables the image's user.
func TestOverridesOfTheDefault(t *testing.T) {
	t.Parallel()
	template, err := podtemplate.Default("wrapper", injection.ImageVolume)
	if err != nil {
		t.Fatal(err)
	}
	f := function()
	f.User = "4711"
	f.Overrides = &functionconfig.Overrides{
		SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(5))},
		Container:       functionconfig.ContainerOverrides{Env: []corev1.EnvVar{}, Limits: cpu("3"), Requests: cpu("1")},
		// The template has no init container, so that this override has no effect.
		InitContainer: functionconfig.ContainerOverrides{Env: []corev1.EnvVar{{Name: "A"}}},
	}
	f.Resources.Limits = cpu("2")
	pod, _ := build(t, template, f)
	c := podtemplate.FunctionOf(pod)
	if diff := cmp.Diff(corev1.ResourceRequirements{Requests: cpu("1"), Limits: cpu("2")}, c.Resources); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(identity, c.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&corev1.PodSecurityContext{RunAsUser: new(int64(5))}, pod.Spec.SecurityContext); diff != "" {
		t.Errorf("security context (-want +got):\n%s", diff)
	}
	f.Overrides = nil
	if pod, _ := build(t, template, f); *pod.Spec.SecurityContext.RunAsUser != 4711 {
		t.Errorf("user without overrides = %d, want 4711, because the template must not change", *pod.Spec.SecurityContext.RunAsUser)
	}
}
