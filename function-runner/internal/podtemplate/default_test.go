// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/injection"
)

// The default pod is what the Pod Security Standard "restricted" wants, and more.
func TestDefaultIsRestricted(t *testing.T) {
	t.Parallel()
	for name, method := range map[string]injection.Method{"init container": injection.InitContainer, "image volume": injection.ImageVolume} {
		template, err := podtemplate.Default("r.io/wrapper:v1", method)
		if err != nil {
			t.Fatal(err)
		}
		pod, _ := build(t, template, function())
		spec := pod.Spec
		if !*spec.SecurityContext.RunAsNonRoot || spec.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
			*spec.AutomountServiceAccountToken || *spec.EnableServiceLinks || spec.HostNetwork {
			t.Errorf("%s: pod %+v", name, spec)
		}
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			s := c.SecurityContext
			if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Contains(s.Capabilities.Drop, "ALL") ||
				c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s: container %s %+v", name, c.Name, s)
			}
		}
		for _, v := range spec.Volumes {
			if v.Name == "tmp" && v.EmptyDir.SizeLimit.IsZero() {
				t.Errorf("%s: /tmp has no bound", name)
			}
			if v.Image != nil && v.Image.Reference != "r.io/wrapper:v1" {
				t.Errorf("%s: the wrapper's image is %s", name, v.Image.Reference)
			}
		}
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	template, err := podtemplate.Default("w", injection.ImageVolume)
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string][2]int64{
		"": {65534, 65534}, "0": {65534, 65534}, "root": {65534, 65534}, "app": {65534, 65534},
		"1000": {1000, 65534}, "1000:2000": {1000, 2000}, "1000:app": {1000, 65534}, "-1:5": {65534, 65534},
	} {
		f := function()
		f.User = user
		pod, _ := build(t, template, f)
		context := pod.Spec.SecurityContext
		if got := [2]int64{*context.RunAsUser, *context.RunAsGroup}; got != want {
			t.Errorf("an image of user %q runs as %v, want %v", user, got, want)
		}
	}
}
