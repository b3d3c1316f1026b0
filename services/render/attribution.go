// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
)

// blueprintAnnotation is where Config Connector looks for the tools that had a hand in a resource.
const blueprintAnnotation = "cnrm.cloud.google.com/blueprint"

// attribute notes on the resources of Config Connector that they have been rendered, as kpt does.
func attribute(resources []*yaml.RNode) {
	for _, r := range resources {
		if !strings.Contains(resource.APIVersion(r), ".cnrm.") {
			continue
		}
		// A resource that cannot be annotated goes without.
		_ = resource.SetAnnotation(r, blueprintAnnotation, attribution(resource.Annotation(r, blueprintAnnotation)))
	}
}

// attribution adds rendering to the tools that a list names: "krm-" and the groups of commands, in a fixed order.
func attribution(before string) string {
	switch {
	case before == "":
		return "krm-fn"
	case !strings.Contains(before, "krm-"):
		return before + ",krm-fn"
	}
	parts := strings.Split(before, ",")
	for i, part := range parts {
		if !strings.Contains(part, "krm") {
			continue
		}
		groups := []string{"krm"}
		for _, group := range []string{"pkg", "fn", "live"} {
			if group == "fn" || strings.Contains(part, group) {
				groups = append(groups, group)
			}
		}
		parts[i] = strings.Join(groups, "-")
	}
	return strings.Join(parts, ",")
}
