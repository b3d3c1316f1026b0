// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

const zoned = `
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: zone, operator: In, values: [a]}]
        - matchFields: [{key: metadata.name, operator: In, values: [node-1]}]
  containers: [{name: function}]
`

func TestPlatforms(t *testing.T) {
	t.Parallel()
	builtIn, err := podtemplate.Default("wrapper", injection.ImageVolume)
	if err != nil {
		t.Fatal(err)
	}
	withAffinity, err := podtemplate.Parse(configMap(zoned, porchService), builtIn)
	if err != nil {
		t.Fatal(err)
	}
	platform := func(arches ...string) []corev1.NodeSelectorRequirement {
		return []corev1.NodeSelectorRequirement{
			{Key: "kubernetes.io/os", Operator: "In", Values: []string{"linux"}}, {Key: "kubernetes.io/arch", Operator: "In", Values: arches},
		}
	}
	zone := corev1.NodeSelectorRequirement{Key: "zone", Operator: "In", Values: []string{"a"}}
	name := []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"node-1"}}}
	for text, tc := range map[string]struct {
		template  *podtemplate.Template
		platforms []string
		want      []corev1.NodeSelectorTerm
	}{
		"not known":       {builtIn, nil, nil},
		"not understood":  {builtIn, []string{"linux"}, nil},
		"one":             {builtIn, []string{"linux/arm64"}, []corev1.NodeSelectorTerm{{MatchExpressions: platform("arm64")}}},
		"with variants":   {builtIn, []string{"linux/arm/v7", "linux/arm/v6", "linux/amd64"}, []corev1.NodeSelectorTerm{{MatchExpressions: platform("amd64", "arm")}}},
		"beside others":   {withAffinity, []string{"linux/amd64"}, []corev1.NodeSelectorTerm{{MatchExpressions: append([]corev1.NodeSelectorRequirement{zone}, platform("amd64")...)}, {MatchFields: name, MatchExpressions: platform("amd64")}}},
		"others are kept": {withAffinity, nil, []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{zone}}, {MatchFields: name}}},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			f := function()
			f.Platforms = tc.platforms
			var got []corev1.NodeSelectorTerm
			pod, _ := build(t, tc.template, f)
			if a := pod.Spec.Affinity; a != nil {
				got = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("node selector terms (-want +got):\n%s", diff)
			}
		})
	}
}
