// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
)

// The chart passes the settings of function pods to the function runner unchanged. A null removes a field and must be preserved.
func TestFunctionPods(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"{defaults: {metadata: {annotations: {a: '1: 2'}}, spec: {hostUsers: false}}}":  "{defaults: {metadata: {annotations: {a: '1: 2'}}, spec: {hostUsers: false}}}",
		"{defaults: {spec: {tolerations: null}}}":                                       "{defaults: {spec: {tolerations: null}}}",
		"{overrides: [{images: ['r.io/a/*', r.io/b], spec: {runtimeClassName: null}}]}": "{overrides: [{images: ['r.io/a/*', r.io/b], spec: {runtimeClassName: null}}]}",
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			r := renderOnce(t, map[string]any{"functionPods": parseValues(t, values)})
			data := as[corev1.ConfigMap](t, named(t, r, "ConfigMap "+install.Namespace+"/krmfn-function-pods")).Data
			got := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(data["function-pods.yaml"]), &got); err != nil {
				t.Fatal(err)
			}
			whole := parseValues(t, want)
			whole["apiVersion"], whole["kind"] = "krmfn.dev/v1alpha1", "FunctionPods"
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Errorf("function-pods.yaml (-want +got):\n%s", diff)
			}
		})
	}
}

// The ConfigMap is mounted at the path that the flag names, and without subPath, because a subPath mount does not follow edits of the
// ConfigMap.
func TestFunctionPodsAreMounted(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]bool{"{}": false, variants["function pods"]: true} {
		pod := runnerPod(t, renderOnce(t, parseValues(t, values))).Spec
		c := pod.Containers[0]
		given := slices.Contains(c.Command, "--function-pods=/function-pods/function-pods.yaml")
		mounted := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == "function-pods" && m.MountPath == "/function-pods" && m.SubPath == "" && m.ReadOnly
		})
		there := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
			return v.Name == "function-pods" && v.ConfigMap != nil && v.ConfigMap.Name == "krmfn-function-pods"
		})
		if given != want || mounted != want || there != want {
			t.Errorf("%s: has flag = %t, mount = %t, volume = %t, want all %t", values, given, mounted, there, want)
		}
	}
}
