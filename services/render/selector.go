// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"maps"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
)

// DescribeSelector formats a selector for display, such as "kind=Deployment, labels.app=web". An empty selector is "{}".
func DescribeSelector(s *kptfilev1.Selector) string {
	var parts []string
	add := func(field, value string) {
		if value != "" {
			parts = append(parts, field+"="+value)
		}
	}
	add("apiVersion", s.APIVersion)
	add("kind", s.Kind)
	add("namespace", s.Namespace)
	add("name", s.Name)
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		parts = append(parts, "labels."+key+"="+s.Labels[key])
	}
	for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
		parts = append(parts, "annotations."+key+"="+s.Annotations[key])
	}
	if len(parts) == 0 {
		return "{}"
	}
	return strings.Join(parts, ", ")
}
