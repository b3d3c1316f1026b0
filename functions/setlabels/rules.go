// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setlabels

import (
	"slices"

	schema "github.com/kptdev/kpt/api/schema/v1"
)

// labelRule says where labels go in resources of some kinds.
type labelRule struct {
	kinds []labelledKind // none: every kind

	// within is the path that must exist for the rule to apply; "" for the resource itself.
	within string

	// path is the path of the labels below within. A step that ends in [] is a list, and stands for all its elements.
	path string

	// create: the labels are put there. Otherwise only those whose key is there already are given the new value, as what
	// is selected may well be something other than this package's.
	create bool
}

// labelledKind is a kind, with its API group; "" for any group. A resource without a group, as in version v1, matches
// every group.
type labelledKind struct {
	group, kind string
	core        bool // the kind is one of Kubernetes' own in version v1; others of the name have other fields
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

// labelRules are applied to each resource in this order, until one fails.
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
	// Not a field of Kubernetes, but it counts: the total in the result is that of the catalog's function.
	{kinds: []labelledKind{statefulSet}, path: "spec.volumeClaimTemplates[].selector.matchLabels"},

	{kinds: []labelledKind{networkPolicy}, path: "spec.ingress[].from[].podSelector.matchLabels"},
	{kinds: []labelledKind{networkPolicy}, path: "spec.egress[].to[].podSelector.matchLabels"},
}

// appliesTo compares as loosely as the catalog's function does: what a resource does not say may be anything. t is empty for
// a resource whose apiVersion cannot be parsed.
func (rule labelRule) appliesTo(t schema.GroupVersionKind) bool {
	loosely := func(got, want string) bool { return got == "" || want == "" || got == want }
	return len(rule.kinds) == 0 || slices.ContainsFunc(rule.kinds, func(k labelledKind) bool {
		if k.core && (!loosely(t.Version, "v1") || (t.Kind != "" && t.Group != "")) {
			return false
		}
		return loosely(t.Kind, k.kind) && loosely(t.Group, k.group)
	})
}
