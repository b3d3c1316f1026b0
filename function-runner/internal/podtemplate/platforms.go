// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// place keeps a pod away from nodes that its image is not built for, where its container would not start. What the template
// says of nodes holds as well.
func place(spec *corev1.PodSpec, platforms []string) {
	systems, architectures := split(platforms)
	if len(systems) == 0 {
		return
	}
	wanted := []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: systems},
		{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: architectures},
	}
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity := spec.Affinity.NodeAffinity
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	// A node has to fulfil one of the terms, so each gets what all have to.
	terms := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		terms[i].MatchExpressions = append(terms[i].MatchExpressions, wanted...)
	}
}

// split returns the operating systems and the architectures of platforms, as labels of nodes have them. Variants of
// architectures are in no label: the container runtime sees to them.
func split(platforms []string) (systems, architectures []string) {
	for _, platform := range platforms {
		system, rest, _ := strings.Cut(platform, "/")
		architecture, _, _ := strings.Cut(rest, "/")
		if system != "" && architecture != "" {
			systems, architectures = append(systems, system), append(architectures, architecture)
		}
	}
	slices.Sort(systems)
	slices.Sort(architectures)
	return slices.Compact(systems), slices.Compact(architectures)
}
