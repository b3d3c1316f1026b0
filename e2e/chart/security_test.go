// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/krmfn/krmfn/e2e/install"
)

// All pods of the chart satisfy the Pod Security Standard "restricted", and additional restrictions that it does not require.
func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	eachRendering(t, func(t *testing.T, r *rendering) {
		for _, w := range workloads(t, r) {
			for _, result := range evaluator.EvaluatePod(restricted, &metav1.ObjectMeta{Labels: w.labels}, &w.spec) {
				if !result.Allowed {
					t.Errorf("%s: %s: %s", w, result.ForbiddenReason, result.ForbiddenDetail)
				}
			}
			if w.spec.EnableServiceLinks == nil || *w.spec.EnableServiceLinks {
				t.Errorf("%s: enableServiceLinks = true, want false", w)
			}
			for _, c := range w.spec.Containers {
				if c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
					t.Errorf("%s: container %s has a writable root file system", w, c.Name)
				}
				if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s: container %s has no CPU request or no memory limit", w, c.Name)
				}
			}
		}
	})
}

// rights returns the rules of all Roles and ClusterRoles.
func rights(t *testing.T, r *rendering) map[*object][]rbacv1.PolicyRule {
	t.Helper()
	all := map[*object][]rbacv1.PolicyRule{}
	for _, o := range r.of("Role") {
		all[o] = as[rbacv1.Role](t, o).Rules
	}
	for _, o := range r.of("ClusterRole") {
		all[o] = as[rbacv1.ClusterRole](t, o).Rules
	}
	return all
}

func TestPermissionsAreMinimal(t *testing.T) {
	t.Parallel()
	dangerous := []string{"*", "escalate", "bind", "impersonate", "deletecollection"}
	eachRendering(t, func(t *testing.T, r *rendering) {
		namespaces := []string{install.Namespace, r.values["functionNamespace"].(map[string]any)["name"].(string)}
		for o, rules := range rights(t, r) {
			if o.GetKind() == "Role" && !slices.Contains(namespaces, o.GetNamespace()) {
				t.Errorf("%s is not in one of the namespaces %q", o, namespaces)
			}
			for _, rule := range rules {
				if slices.ContainsFunc(slices.Concat(rule.Verbs, rule.Resources, rule.APIGroups), func(word string) bool { return slices.Contains(dangerous, word) }) {
					t.Errorf("%s grants dangerous permissions: %v", o, rule)
				}
				if slices.Contains(rule.Resources, "secrets") && !narrow(rule) {
					t.Errorf("%s grants access to Secrets without naming them: %v", o, rule)
				}
				if o.GetKind() == "ClusterRole" && !clusterWide(rule) {
					t.Errorf("%s grants more than listing and watching nodes, or creating token reviews: %v", o, rule)
				}
			}
		}
	})
}

// clusterWide reports whether a ClusterRole may contain the rule.
func clusterWide(rule rbacv1.PolicyRule) bool {
	may := func(resource string, verbs ...string) bool {
		return slices.Equal(rule.Resources, []string{resource}) && slices.Equal(rule.Verbs, verbs)
	}
	return may("nodes", "list") || may("nodes", "list", "watch") || may("tokenreviews", "create")
}

// narrow reports whether a rule for Secrets is limited to named ones. The create verb is allowed, because RBAC cannot restrict it by name.
func narrow(rule rbacv1.PolicyRule) bool {
	return slices.Equal(rule.Verbs, []string{"create"}) ||
		len(rule.ResourceNames) > 0 && !slices.Contains(rule.Verbs, "list") && !slices.Contains(rule.Verbs, "watch")
}

func TestRolesAndBindingsMatch(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		there, bound := map[string]bool{}, map[string]bool{}
		for _, o := range r.objects {
			there[o.String()] = true
		}
		for _, o := range slices.Concat(r.of("RoleBinding"), r.of("ClusterRoleBinding")) {
			// A ClusterRoleBinding has the same fields as a RoleBinding.
			binding := as[rbacv1.RoleBinding](t, o)
			role := binding.RoleRef.Kind + " " + o.GetNamespace() + "/" + binding.RoleRef.Name
			bound[role] = true
			if !there[role] {
				t.Errorf("%s refers to %s, which the chart does not create", o, role)
			}
			for _, s := range binding.Subjects {
				if subject := s.Kind + " " + s.Namespace + "/" + s.Name; !there[subject] {
					t.Errorf("%s has the subject %s, which the chart does not create", o, subject)
				}
			}
		}
		for o := range rights(t, r) {
			if !bound[o.String()] {
				t.Errorf("no binding refers to %s", o)
			}
		}
	})
}

// The chart creates the function namespace with the configured Pod Security level, and rejects the release namespace as the function
// namespace.
func TestFunctionNamespace(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		space := r.values["functionNamespace"].(map[string]any)
		namespaces := r.of("Namespace")
		if (len(namespaces) == 1) != space["create"].(bool) {
			t.Fatalf("got %d namespaces with functionNamespace.create = %v", len(namespaces), space["create"])
		}
		for _, o := range namespaces {
			made := as[corev1.Namespace](t, o)
			if made.Name != space["name"] || made.Labels[api.EnforceLevelLabel] != space["podSecurity"] {
				t.Errorf("namespace = %s, enforced level = %s, want the values of functionNamespace", made.Name, made.Labels[api.EnforceLevelLabel])
			}
		}
	})
	_, err := renderChart(t, parseValues(t, `functionNamespace: {name: `+install.Namespace+`}`))
	if err == nil {
		t.Error("the chart accepts the release namespace as the function namespace, want an error")
	}
}
