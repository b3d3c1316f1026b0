// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/krmfn/krmfn/e2e/chart/reach"
	"github.com/krmfn/krmfn/e2e/install"
)

// tenant renders one of several installations in a cluster, with all optional features enabled.
func tenant(t *testing.T, name string) *rendering {
	t.Helper()
	values := parseValues(t, `functionNamespace: {name: `+name+`-functions}
tls: {secret: tls, clientCertificates: true, tokenAudience: krmfn, allowedServiceAccounts: [tools/renderer]}`)
	for _, text := range switches {
		values = install.MergeValues(values, parseValues(t, text))
	}
	r, err := renderIn(t, name, values)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Two installations have no object in common, and each has objects only in its own namespaces.
func TestTenantsHaveSeparateObjects(t *testing.T) {
	t.Parallel()
	one, other := tenant(t, "team-a"), tenant(t, "team-b")
	of := map[string]bool{}
	for _, o := range one.objects {
		of[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = true
		if o.GetNamespace() != "" && !slices.Contains([]string{"team-a", "team-a-functions"}, o.GetNamespace()) {
			t.Errorf("%s is outside the namespaces of team-a", o)
		}
	}
	for _, o := range other.objects {
		if of[o.String()] {
			t.Errorf("both installations create %s", o)
		}
	}
	if strings.Contains(one.text, "team-b") || strings.Contains(other.text, "team-a") {
		t.Error("the objects of one installation mention the other one")
	}
}

// The permissions of an installation are for its own service accounts and namespaces. Cluster-wide permissions are limited to the rules
// that TestPermissionsAreMinimal allows.
func TestTenantsHaveNoPermissionsForEachOther(t *testing.T) {
	t.Parallel()
	r := tenant(t, "team-a")
	for _, o := range slices.Concat(r.of("RoleBinding"), r.of("ClusterRoleBinding")) {
		for _, subject := range as[rbacv1.RoleBinding](t, o).Subjects {
			if subject.Kind != rbacv1.ServiceAccountKind || subject.Namespace != "team-a" {
				t.Errorf("%s: subject = %v, want a ServiceAccount in team-a", o, subject)
			}
		}
	}
	for o, rules := range rights(t, r) {
		for _, rule := range rules {
			if o.GetKind() == "ClusterRole" && !clusterWide(rule) {
				t.Errorf("%s grants access to another installation: %v", o, rule)
			}
		}
	}
}

// Both installations use the same labels, so policies must distinguish them by namespace.
func TestTenantsCannotConnectToEachOther(t *testing.T) {
	t.Parallel()
	one, other := tenant(t, "team-a"), tenant(t, "team-b")
	all := slices.Concat(policies(t, one), policies(t, other))
	second := reach.NewSecond(all)
	ends := slices.Concat(podsOf(t, one, "team-a", 1), podsOf(t, other, "team-b", 2))
	within := 0
	for _, from := range ends {
		for _, to := range ends {
			for _, port := range where {
				allowed := reachable(t, all, second, from, to, port)
				if strings.HasPrefix(from.Namespace, "team-a") == strings.HasPrefix(to.Namespace, "team-a") {
					if allowed {
						within++
					}
				} else if allowed && to.Labels["app"] != "porch-server" { // The chart has no policy for clients.
					t.Errorf("%s can connect to %s at %s", from, to, port)
				}
			}
		}
	}
	if within == 0 {
		t.Error("no connection within an installation is allowed")
	}
}

func reachable(t *testing.T, all []*networkingv1.NetworkPolicy, second reach.Second, from, to reach.End, port reach.Port) bool {
	t.Helper()
	allowed, err := reach.Allowed(all, from, to, port)
	if err != nil {
		t.Fatal(err)
	}
	if also := second.Allowed(from, to, port); also != allowed {
		t.Errorf("%s to %s at %s: Allowed() = %t, but the second evaluator returns %t", from, to, port, allowed, also)
	}
	return allowed
}

// podsOf returns the pods of an installation: the chart's pods except tests, a client and a function pod.
func podsOf(t *testing.T, r *rendering, namespace string, network byte) []reach.End {
	t.Helper()
	ends := []reach.End{
		inNamespace(namespace, "client", map[string]string{"krmfn.dev/client": "true", "app": "porch-server"}),
		inNamespace(namespace+"-functions", "function", map[string]string{"app": "function-runner", "krmfn.dev/client": "true"}),
	}
	for _, w := range workloads(t, r) {
		if w.labels["app"] != "krmfn-test" { // A test pod is a client, which the pod above covers.
			ends = append(ends, inNamespace(namespace, w.GetName(), w.labels))
		}
	}
	for i := range ends {
		ends[i].Address = netip.AddrFrom4([4]byte{10, 244, network, byte(i)})
	}
	return ends
}
