// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install"
)

// policies returns the NetworkPolicies of a rendering.
func policies(t *testing.T, r *rendering) []*networkingv1.NetworkPolicy {
	t.Helper()
	var all []*networkingv1.NetworkPolicy
	for _, o := range r.of("NetworkPolicy") {
		all = append(all, as[networkingv1.NetworkPolicy](t, o))
	}
	return all
}

// Exactly one policy selects each pod that serves requests or has API permissions. Test pods need none, because they are short-lived
// clients.
func TestNetworkPoliciesSelectEachPodOnce(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		enabled := r.values["networkPolicy"].(map[string]any)["enabled"] == true
		for _, w := range workloads(t, r) {
			var names []string
			for _, p := range policies(t, r) {
				if p.Namespace == w.GetNamespace() && slices.Contains(namesOf(selected(t, r, &p.Spec.PodSelector)), w.String()) {
					names = append(names, p.Name)
				}
			}
			if want := enabled && w.GetKind() != "Pod"; len(names) != map[bool]int{true: 1}[want] {
				t.Errorf("%s: selected by policies %q, want one: %t", w, names, want)
			}
		}
		for _, p := range policies(t, r) {
			switch p.Namespace {
			case install.Namespace:
				if len(selected(t, r, &p.Spec.PodSelector)) == 0 {
					t.Errorf("policy %s selects nothing", p.Name)
				}
			case r.values["functionNamespace"].(map[string]any)["name"]:
				// A pod template may give function pods any labels, so the policy must not depend on labels.
				if !isEmpty(p.Spec.PodSelector) || len(p.Spec.PolicyTypes) != 2 {
					t.Errorf("policy %s does not select all pods of the namespace for ingress and egress", p.Name)
				}
			default:
				t.Errorf("policy %s is in unexpected namespace %s", p.Name, p.Namespace)
			}
		}
	})
}

func namesOf(all []*workload) []string {
	var names []string
	for _, w := range all {
		names = append(names, w.String())
	}
	return names
}

func isEmpty(s metav1.LabelSelector) bool { return len(s.MatchLabels)+len(s.MatchExpressions) == 0 }
