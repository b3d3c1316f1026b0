// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/krmfn/krmfn/function-runner/internal/podpatch"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

// choices holds valid JSON values of the fields that the settings of function pods may set.
var choices = map[string][]string{
	"runtimeClassName": {`"gvisor"`, "null"}, "hostUsers": {"false", "true", "null"}, "priorityClassName": {`"low"`, "null"}, "schedulerName": {`"other"`, "null"},
	"nodeSelector": {`{"pool": "functions"}`, `{"pool": null}`, "{}", "null"},
	"tolerations":  {`[{"key": "a", "operator": "Exists"}]`, "[]", "null"},
	"affinity": {
		`{"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}}`,
		`{"nodeAffinity": null}`, "{}", "null",
	},
	"topologySpreadConstraints": {`[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]`, "[]", "null"},
	"securityContext": {
		`{"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}}`, `{"seccompProfile": {"type": "RuntimeDefault"}}`,
		`{"appArmorProfile": {"type": "Localhost", "localhostProfile": "a"}}`,
	},
}

// hostile holds fields and values that the settings must reject, or that must not change the pod's essence.
var hostile = map[string][]string{
	"securityContext":    {`{"seccompProfile": {"type": "Unconfined"}}`, `{"runAsUser": 0}`, `{"seccompProfile": null}`, "null"},
	"containers":         {`[{"name": "function", "command": ["/bin/sh"]}]`, "[]", "null"},
	"Containers":         {`[{"name": "function", "image": "other"}]`, "null"},
	"volumes":            {"[]", "null"},
	"hostNetwork":        {"true"},
	"serviceAccountName": {`"admin"`},
	"$patch":             {`"replace"`, `"delete"`},
	"$retainKeys":        {`["nodeSelector"]`},
	"nodeSelector":       {`{"$patch": "replace"}`},
	"affinity":           {`{"$patch": "delete"}`},
}

func chosen(t *rapid.T, from map[string][]string, least, most int) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	names := slices.Sorted(maps.Keys(from))
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), least, most, rapid.ID[string]).Draw(t, "fields") {
		fields[name] = json.RawMessage(rapid.SampledFrom(from[name]).Draw(t, name))
	}
	return fields
}

// settings returns a random entry of the settings of function pods.
func settings(t *rapid.T) map[string]any {
	spec := chosen(t, choices, 0, len(choices))
	keys := []string{"team", "example.org/tier"}
	switch rapid.IntRange(0, 5).Draw(t, "hostile") {
	case 0:
		maps.Copy(spec, chosen(t, hostile, 1, 1))
	case 1:
		keys = append(keys, functionpod.PoolLabel, functionpod.ImageLabel, functionpod.OrdinalLabel, functionpod.DigestAnnotation, "$patch")
	}
	value := rapid.SampledFrom([]any{"a", "", nil})
	values := rapid.MapOfN(rapid.SampledFrom(keys), value, 0, 2)
	return map[string]any{
		"metadata": map[string]any{"labels": values.Draw(t, "labels"), "annotations": values.Draw(t, "annotations")},
		"spec":     spec,
	}
}

// With any accepted settings, the pod runs the wrapper server and the requested image, keeps its labels, and gets no more rights.
func TestPatchesLeaveWhatCounts(t *testing.T) {
	t.Parallel()
	merged, err := podtemplate.Parse(podOnly("spec: {containers: [{name: sidecar, image: i}, {name: function}]}"), builtIn(t, injection.ImageVolume))
	if err != nil {
		t.Fatal(err)
	}
	templates := []*podtemplate.Template{builtIn(t, injection.ImageVolume), builtIn(t, injection.InitContainer), merged}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		override := settings(t)
		override["images"] = []string{"r.io/*"}
		text, err := json.Marshal(map[string]any{
			"apiVersion": "krmfn.dev/v1alpha1", "kind": "FunctionPods", "defaults": settings(t), "overrides": []any{override},
		})
		if err != nil {
			t.Fatal(err)
		}
		patches, err := podpatch.Parse(text)
		if err != nil {
			return
		}
		accepted++
		template := rapid.SampledFrom(templates).Draw(t, "template")
		plain, patched := function(), function()
		patched.Patches = patches.For(patched.Reference)
		want, _, err := template.Build(plain, "fns", "fn-v1-2-0123abcd", 2)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := template.Build(patched, "fns", "fn-v1-2-0123abcd", 2)
		if err != nil {
			t.Fatalf("Build() with %s = %v, want nil", text, err)
		}
		if diff := gocmp.Diff(essence(want), essence(got)); diff != "" {
			t.Errorf("%s changes (-before +after):\n%s", text, diff)
		}
		if p := got.Spec.SecurityContext.SeccompProfile; p == nil || p.Type == corev1.SeccompProfileTypeUnconfined {
			t.Errorf("%s: seccomp profile = %v, want a confined one", text, p)
		}
	})
	if accepted == 0 {
		t.Error("no settings were accepted, so that the test has checked nothing")
	}
}

// essence returns the part of a pod that settings must not change.
func essence(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	spec := &pod.Spec
	pod.Labels = only(pod.Labels, functionpod.ImageLabel, functionpod.PoolLabel, functionpod.OrdinalLabel)
	pod.Annotations = only(pod.Annotations, functionpod.ReferenceAnnotation, functionpod.DigestAnnotation, functionpod.TTLAnnotation)
	spec.RuntimeClassName, spec.HostUsers, spec.NodeSelector, spec.Tolerations, spec.Affinity, spec.TopologySpreadConstraints = nil, nil, nil, nil, nil, nil
	spec.PriorityClassName, spec.SchedulerName = "", ""
	if spec.SecurityContext != nil {
		spec.SecurityContext.SeccompProfile, spec.SecurityContext.AppArmorProfile = nil, nil
	}
	return pod
}

func only(values map[string]string, keys ...string) map[string]string {
	kept := map[string]string{}
	for _, key := range keys {
		kept[key] = values[key]
	}
	return kept
}
