// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/image-warmer/internal/prepull"
	"github.com/krmfn/krmfn/image-warmer/options"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

// Pods are scheduled to their node, satisfy the Pod Security Standard "restricted", have a deadline, and have labels to find them.
func TestPod(t *testing.T) {
	t.Parallel()
	template := prepull.Config{Namespace: "fns", Run: "r1", Pulls: options.Pulls{
		WrapperImage: "wrapper:v1", Timeout: 1500 * time.Millisecond, PullSecrets: []string{"s1", "s2"},
		Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
	}}
	pull := prepull.Pull{Node: "n1", Image: "r.io/a@" + digest("1"), References: []string{"r.io/a:v1", "r.io/a:v1.0"}}
	for _, method := range []injection.Method{injection.InitContainer, injection.ImageVolume} {
		pod := template.Pod("p", &pull, method)
		spec := &pod.Spec
		if pod.Name != "p" || pod.Namespace != "fns" || nodeOf(pod) != "n1" || spec.NodeName != "" {
			t.Errorf("pod = %s/%s with nodeName %q, want fns/p with an affinity to n1", pod.Namespace, pod.Name, spec.NodeName)
		}
		labels := map[string]string{functionpod.WarmerLabel: "r1", "app.kubernetes.io/managed-by": "krm-image-warmer", "app.kubernetes.io/part-of": "krmfn"}
		if diff := cmp.Diff(labels, pod.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		if pod.Annotations[functionpod.ReferenceAnnotation] != "r.io/a:v1,r.io/a:v1.0" {
			t.Errorf("annotations = %v, want the references", pod.Annotations)
		}
		if spec.RestartPolicy != corev1.RestartPolicyNever || *spec.ActiveDeadlineSeconds != 2 || *spec.AutomountServiceAccountToken || *spec.EnableServiceLinks {
			t.Errorf("spec = %+v, want no restart, a deadline of 2 s, no token and no service links", spec)
		}
		secrets := []corev1.LocalObjectReference{{Name: "s1"}, {Name: "s2"}}
		if cmp.Diff(secrets, spec.ImagePullSecrets) != "" || cmp.Diff(template.Tolerations, spec.Tolerations) != "" {
			t.Errorf("imagePullSecrets = %v, tolerations = %v, want those of the configuration", spec.ImagePullSecrets, spec.Tolerations)
		}
		if s := spec.SecurityContext; !*s.RunAsNonRoot || *s.RunAsUser != 65534 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("securityContext = %+v, want user 65534 and the default seccomp profile", s)
		}
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			s := c.SecurityContext
			if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Capabilities.Drop[0] != "ALL" || c.ImagePullPolicy != corev1.PullIfNotPresent {
				t.Errorf("container %s: securityContext = %+v, imagePullPolicy = %s, want a restricted one and IfNotPresent", c.Name, s, c.ImagePullPolicy)
			}
			if len(c.Resources.Limits) != 2 || len(c.Resources.Requests) != 2 {
				t.Errorf("container %s: resources = %+v, want two requests and two limits", c.Name, c.Resources)
			}
		}
	}
}

// With an image volume, no code of the function's image runs.
func TestInjection(t *testing.T) {
	t.Parallel()
	template := prepull.Config{Pulls: options.Pulls{WrapperImage: "wrapper:v1", Timeout: time.Minute}}
	pull := prepull.Pull{Node: "n1", Image: "r.io/a@" + digest("1")}
	by := template.Pod("p", &pull, injection.ImageVolume).Spec
	if len(by.InitContainers) > 0 || by.Containers[0].Image != "wrapper:v1" || by.Volumes[0].Image.Reference != pull.Image {
		t.Errorf("spec with an image volume = %+v", by)
	}
	if diff := cmp.Diff([]string{"/home/nonroot/wrapper-server/wrapper-server", "--help"}, by.Containers[0].Command); diff != "" {
		t.Error(diff)
	}
	by = template.Pod("p", &pull, injection.InitContainer).Spec
	if len(by.InitContainers) != 1 || by.InitContainers[0].Image != "wrapper:v1" || by.Containers[0].Image != pull.Image || by.Volumes[0].EmptyDir == nil {
		t.Errorf("spec with an init container = %+v", by)
	}
	mounts := by.InitContainers[0].VolumeMounts[0].MountPath
	if diff := cmp.Diff([]string{"cp", "-a", "/home/nonroot/wrapper-server/.", mounts}, by.InitContainers[0].Command); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{mounts + "/wrapper-server", "--help"}, by.Containers[0].Command); diff != "" {
		t.Error(diff)
	}
}
