// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/chart/reach"
)

func TestFirewall(t *testing.T) {
	t.Parallel()
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}}
	const spec = `{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: x}}}], ports: [{port: 81}]}]}`
	if err := yaml.UnmarshalStrict([]byte(spec), &policy.Spec); err != nil {
		t.Fatal(err)
	}
	ends := []reach.End{
		{Namespace: "a", Labels: map[string]string{"app": "x"}, Address: netip.MustParseAddr("10.0.0.1")},
		{Namespace: "a", Address: netip.MustParseAddr("10.0.0.2")},
		{Namespace: "b", Address: netip.MustParseAddr("10.0.0.3")},
		{Namespace: "c", Address: netip.MustParseAddr("10.0.0.4")},
	}
	const want = `table ip krmfn_e2e
delete table ip krmfn_e2e
table ip krmfn_e2e {
  chain forward {
    type filter hook forward priority filter
    ip saddr 10.0.0.1 ip daddr 10.0.0.2 tcp dport { 80 } drop
    ip saddr 10.0.0.2 ip daddr 10.0.0.1 tcp dport { 80, 81 } drop
    ip saddr 10.0.0.3 ip daddr 10.0.0.1 tcp dport { 80, 81 } drop
    ip saddr 10.0.0.3 ip daddr 10.0.0.2 tcp dport { 80, 81 } drop
    ip saddr 10.0.0.4 ip daddr 10.0.0.1 tcp dport { 80, 81 } drop
    ip saddr 10.0.0.4 ip daddr 10.0.0.2 tcp dport { 80, 81 } drop
  }
}
`
	got, err := firewall("krmfn_e2e", []*networkingv1.NetworkPolicy{policy}, ends, func(end reach.End) bool { return end.Namespace == "a" }, []int32{81, 80})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("firewall() (-want +got):\n%s", diff)
	}
}
