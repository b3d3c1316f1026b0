// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setlabels

import (
	"slices"

	schema "github.com/kptdev/kpt/api/schema/v1"
)

// labelRule defines where labels are set in resources of certain kinds.
type labelRule struct {
	kinds []labelledKind // empty means every kind

	// within is the path that must exist for the rule to apply; "" means the resource itself.
	within string

	// path is the path of the labels, relative to within. A step that ends in [] means all elements of a list.
	path string

	// create makes the rule add labels. Otherwise it only updates labels whose key exists, because the selector may select
	// resources of other packages.
	create bool
}

// labelledKind is a kind and its API group; "" matches any group. A resource without a group, as in version v1, matches every
// group.
type labelledKind struct {
	group, kind string
	core        bool // one of Kubernetes' kinds in version v1; kinds of the same name in other groups have other fields
}

var (
	service               = labelledKind{kind: "Service", core: true}
	replicationController = labelledKind{kind: "ReplicationController", core: true}
	statefulSet           = labelledKind{group: "apps", kind: "StatefulSet"}
	networkPolicy         = labelledKind{group: "networking.k8s.io", kind: "NetworkPolicy"}
	job                   = labelledKind{group: "batch", kind: "Job"}
	cronJob               = labelledKind{group: "batch", kind: "CronJob"}

	replicated  = []labelledKind{{kind: "Deployment"}, {kind: "ReplicaSet"}, {kind: "DaemonSet"}, statefulSet}
	podTemplate = append(slices.Clone(replicated), replicationController, job)
)

// labelRules are applied to each resource in this order. The first error ends the list.
var labelRules = []labelRule{
	{path: "metadata.labels", create: true},

	{kinds: []labelledKind{service, replicationController}, path: "spec.selector", create: true},
	{kinds: replicated, path: "spec.selector.matchLabels", create: true},
	{kinds: []labelledKind{job, {group: "policy", kind: "PodDisruptionBudget"}}, path: "spec.selector.matchLabels"},
	{kinds: []labelledKind{networkPolicy}, path: "spec.podSelector.matchLabels"},

	{kinds: podTemplate, within: "spec.template", path: "metadata.labels", create: true},
	{
		kinds: podTemplate, within: "spec.template",
		path: "spec.topologySpreadConstraints[].labelSelector.matchLabels",
	},

	{kinds: []labelledKind{cronJob}, within: "spec.jobTemplate", path: "metadata.labels", create: true},
	{kinds: []labelledKind{cronJob}, within: "spec.jobTemplate.spec", path: "selector.matchLabels"},
	{kinds: []labelledKind{cronJob}, within: "spec.jobTemplate.spec.template", path: "metadata.labels", create: true},
	{
		kinds: []labelledKind{cronJob}, within: "spec.jobTemplate.spec.template",
		path: "spec.topologySpreadConstraints[].labelSelector.matchLabels",
	},

	{kinds: []labelledKind{statefulSet}, path: "spec.volumeClaimTemplates[].metadata.labels", create: true},
	// Kubernetes has no such field, but it is counted, so that the total equals that of the catalog's function.
	{kinds: []labelledKind{statefulSet}, path: "spec.volumeClaimTemplates[].selector.matchLabels"},

	{kinds: []labelledKind{networkPolicy}, path: "spec.ingress[].from[].podSelector.matchLabels"},
	{kinds: []labelledKind{networkPolicy}, path: "spec.egress[].to[].podSelector.matchLabels"},
}

// appliesTo compares as loosely as the catalog's function: a missing value matches anything. t is empty if the resource's
// apiVersion cannot be parsed.
func (rule labelRule) appliesTo(t schema.GroupVersionKind) bool {
	loosely := func(got, want string) bool { return got == "" || want == "" || got == want }
	return len(rule.kinds) == 0 || slices.ContainsFunc(rule.kinds, func(k labelledKind) bool {
		if k.core && (!loosely(t.Version, "v1") || (t.Kind != "" && t.Group != "")) {
			return false
		}
		return loosely(t.Kind, k.kind) && loosely(t.Group, k.group)
	})
}
