// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

// The default pod satisfies the Pod Security Standard "restricted", and has resource limits and a read-only root file system.
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
			t.Errorf("%s: pod = %+v, want it restricted", name, spec)
		}
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			s := c.SecurityContext
			if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Contains(s.Capabilities.Drop, "ALL") ||
				c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s: security context of container %s = %+v, want it restricted and with resources", name, c.Name, s)
			}
		}
		for _, v := range spec.Volumes {
			if v.Name == "tmp" && v.EmptyDir.SizeLimit.IsZero() {
				t.Errorf("%s: /tmp has no size limit", name)
			}
			if v.Image != nil && v.Image.Reference != "r.io/wrapper:v1" {
				t.Errorf("%s: wrapper image = %s, want r.io/wrapper:v1", name, v.Image.Reference)
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
			t.Errorf("image with user %q runs as %v, want %v", user, got, want)
		}
	}
}

// Admission assigns a user if the pod sets none. It would reject the image's user.
func TestAssignedUser(t *testing.T) {
	t.Parallel()
	builtIn, err := podtemplate.Default("w", injection.InitContainer)
	if err != nil {
		t.Fatal(err)
	}
	assigned, err := builtIn.WithAssignedUser()
	if err != nil {
		t.Fatal(err)
	}
	pod, _, err := assigned.Build(&podtemplate.Values{Reference: "r.io/fn:v1", Image: "r.io/fn@sha256:1", Command: []string{"fn"}, User: "1000"}, "ns", "n", 1)
	if err != nil {
		t.Fatal(err)
	}
	if s := pod.Spec.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil || !*s.RunAsNonRoot {
		t.Errorf("security context = %+v, want RunAsNonRoot and no IDs", s)
	}
	if assigned.Version == builtIn.Version || builtIn.Pod.Spec.SecurityContext.RunAsUser == nil {
		t.Error("WithAssignedUser() has the same version, or has changed the original")
	}
}

// With ByReference, tools that look for images by name find the image, and the node pulls it at each start.
func TestImageByReference(t *testing.T) {
	t.Parallel()
	template, err := podtemplate.Default("w", injection.ImageVolume)
	if err != nil {
		t.Fatal(err)
	}
	byDigest := &podtemplate.Values{Reference: "r.io/fn:v1", Image: "r.io/fn@sha256:1", Command: []string{"fn"}}
	byReference := *byDigest
	byReference.ByReference = true
	pod, _, err := template.Build(&byReference, "ns", "n", 1)
	if err != nil {
		t.Fatal(err)
	}
	if c := podtemplate.FunctionOf(pod); c.Image != "r.io/fn:v1" || c.ImagePullPolicy != corev1.PullAlways {
		t.Errorf("image = %s with pull policy %s, want r.io/fn:v1 with Always", c.Image, c.ImagePullPolicy)
	}
	if template.VersionFor(byDigest) == template.VersionFor(&byReference) {
		t.Error("VersionFor() is the same with and without ByReference")
	}
}
