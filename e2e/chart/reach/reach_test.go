// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reach_test

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/chart/reach"
)

// TestAllowed covers the statements in the documentation of the API.
func TestAllowed(t *testing.T) {
	t.Parallel()
	web := reach.End{Namespace: "a", NamespaceLabels: map[string]string{"team": "a"}, Labels: map[string]string{"app": "web"}, Address: netip.MustParseAddr("10.0.0.1")}
	client := reach.End{Namespace: "b", NamespaceLabels: map[string]string{"team": "b"}, Labels: map[string]string{"app": "client"}, Address: netip.MustParseAddr("10.0.0.2")}
	outside := reach.End{Address: netip.MustParseAddr("192.0.2.1")}
	tcp := reach.Port{Number: 80, Name: "http", Protocol: corev1.ProtocolTCP}
	for name, test := range map[string]struct {
		spec     string
		from, to reach.End
		port     reach.Port
		want     bool
	}{
		"another pod is selected":            {`{podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress]}`, client, web, tcp, true},
		"no rule":                            {`{policyTypes: [Ingress]}`, client, web, tcp, false},
		"the other direction":                {`{policyTypes: [Egress]}`, client, web, tcp, true},
		"no types, and ingress":              {`{}`, client, web, tcp, false},
		"no types, and no egress":            {`{}`, web, client, tcp, true},
		"no types, and egress":               {`{egress: [{ports: [{port: 81}]}]}`, web, client, tcp, false},
		"an empty rule":                      {`{ingress: [{}]}`, client, web, tcp, true},
		"another port":                       {`{ingress: [{ports: [{port: 81}]}]}`, client, web, tcp, false},
		"a port by name":                     {`{ingress: [{ports: [{port: http}]}]}`, client, web, tcp, true},
		"a range of ports":                   {`{ingress: [{ports: [{port: 79, endPort: 80}]}]}`, client, web, tcp, true},
		"past a range of ports":              {`{ingress: [{ports: [{port: 70, endPort: 79}]}]}`, client, web, tcp, false},
		"TCP is the default":                 {`{ingress: [{ports: [{port: 80}]}]}`, client, web, reach.Port{Number: 80, Protocol: corev1.ProtocolUDP}, false},
		"all ports of a protocol":            {`{ingress: [{ports: [{protocol: UDP}]}]}`, client, web, reach.Port{Number: 80, Protocol: corev1.ProtocolUDP}, true},
		"pods are those of the namespace":    {`{ingress: [{from: [{podSelector: {}}]}]}`, client, web, tcp, false},
		"pods of any namespace":              {`{ingress: [{from: [{namespaceSelector: {}}]}]}`, client, web, tcp, true},
		"outside is in no namespace":         {`{ingress: [{from: [{namespaceSelector: {}}]}]}`, outside, web, tcp, false},
		"both selectors must match":          {`{ingress: [{from: [{namespaceSelector: {matchLabels: {team: b}}, podSelector: {matchLabels: {app: web}}}]}]}`, client, web, tcp, false},
		"one of two peers must match":        {`{ingress: [{from: [{namespaceSelector: {matchLabels: {team: b}}}, {podSelector: {matchLabels: {app: web}}}]}]}`, client, web, tcp, true},
		"NotIn matches what lacks the label": {`{ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: tier, operator: NotIn, values: [x]}]}}]}]}`, client, web, tcp, true},
		"an address":                         {`{ingress: [{from: [{ipBlock: {cidr: 192.0.2.0/24}}]}]}`, outside, web, tcp, true},
		"an exception":                       {`{ingress: [{from: [{ipBlock: {cidr: 192.0.2.0/24, except: [192.0.2.0/31]}}]}]}`, outside, web, tcp, false},
		"egress to an address":               {`{egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]}`, web, outside, tcp, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}}
			if err := yaml.UnmarshalStrict([]byte(test.spec), &policy.Spec); err != nil {
				t.Fatal(err)
			}
			got, err := reach.Allowed([]*networkingv1.NetworkPolicy{policy}, test.from, test.to, test.port)
			if err != nil || got != test.want {
				t.Errorf("Allowed() = %t, %v, want %t", got, err, test.want)
			}
		})
	}
}

// Both evaluators return the same result for random policies and connections.
func TestEvaluatorsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		policies := rapid.SliceOfN(rapid.Custom(drawPolicy), 1, 4).Draw(t, "policies")
		second := reach.NewSecond(policies)
		for range 20 {
			from, to, port := drawEnd(t), drawEnd(t), drawPort(t)
			got, err := reach.Allowed(policies, from, to, port)
			if err != nil {
				t.Fatal(err)
			}
			if want := second.Allowed(from, to, port); got != want {
				t.Fatalf("%+v to %+v at %s: Allowed() = %t, but the second evaluator returns %t", from, to, port, got, want)
			}
		}
	})
}

var (
	namespaces = []string{"a", "b"}
	words      = []string{"x", "y"}
	ports      = []int32{80, 81, 90}
)

func drawLabels(t *rapid.T, name string) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom([]string{"k", "l"}), rapid.SampledFrom(words), 0, 2).Draw(t, name)
}

func drawEnd(t *rapid.T) reach.End {
	end := reach.End{Address: netip.AddrFrom4([4]byte{10, 0, 0, rapid.Byte().Draw(t, "address")})}
	if rapid.IntRange(0, 4).Draw(t, "outside") > 0 {
		end.Namespace = rapid.SampledFrom(namespaces).Draw(t, "namespace")
		end.NamespaceLabels = map[string]string{"k": map[string]string{"a": "x", "b": "y"}[end.Namespace]}
		end.Labels = drawLabels(t, "labels")
	}
	return end
}

func drawPort(t *rapid.T) reach.Port {
	port := reach.Port{Number: rapid.SampledFrom(ports).Draw(t, "port"), Protocol: drawProtocol(t)}
	port.Name = map[int32]string{80: "http", 81: "more"}[port.Number]
	return port
}

func drawProtocol(t *rapid.T) corev1.Protocol {
	return rapid.SampledFrom([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}).Draw(t, "protocol")
}

// drawSelector draws a selector without the operator NotIn, which the second evaluator treats differently from Kubernetes.
func drawSelector(t *rapid.T) *metav1.LabelSelector {
	selector := &metav1.LabelSelector{MatchLabels: drawLabels(t, "matchLabels")}
	if rapid.Bool().Draw(t, "expression") {
		requirement := metav1.LabelSelectorRequirement{Key: rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key")}
		requirement.Operator = rapid.SampledFrom([]metav1.LabelSelectorOperator{
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
		}).Draw(t, "operator")
		if requirement.Operator == metav1.LabelSelectorOpIn {
			requirement.Values = rapid.SliceOfNDistinct(rapid.SampledFrom(words), 1, 2, rapid.ID).Draw(t, "values")
		}
		selector.MatchExpressions = append(selector.MatchExpressions, requirement)
	}
	return selector
}

func drawPolicyPort(t *rapid.T) networkingv1.NetworkPolicyPort {
	var p networkingv1.NetworkPolicyPort
	if rapid.Bool().Draw(t, "has protocol") {
		protocol := drawProtocol(t)
		p.Protocol = &protocol
	}
	number := intstr.FromInt32(rapid.SampledFrom(ports).Draw(t, "port"))
	switch rapid.IntRange(0, 3).Draw(t, "kind of port") {
	case 0:
		p.Port = &number
	case 1:
		end := number.IntVal + rapid.Int32Range(0, 9).Draw(t, "end")
		p.Port, p.EndPort = &number, &end
	case 2:
		name := intstr.FromString(rapid.SampledFrom([]string{"http", "more"}).Draw(t, "name"))
		p.Port = &name
	}
	return p
}

func drawPeer(t *rapid.T) networkingv1.NetworkPolicyPeer {
	switch rapid.IntRange(0, 3).Draw(t, "kind of peer") {
	case 0:
		return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{
			CIDR:   rapid.SampledFrom([]string{"10.0.0.0/8", "10.0.0.64/26", "10.0.0.0/31"}).Draw(t, "cidr"),
			Except: rapid.SliceOfN(rapid.SampledFrom([]string{"10.0.0.96/28", "10.0.0.1/32"}), 0, 2).Draw(t, "except"),
		}}
	case 1:
		return networkingv1.NetworkPolicyPeer{PodSelector: drawSelector(t)}
	case 2:
		return networkingv1.NetworkPolicyPeer{NamespaceSelector: drawSelector(t)}
	}
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: drawSelector(t), PodSelector: drawSelector(t)}
}

func drawPolicy(t *rapid.T) *networkingv1.NetworkPolicy {
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: rapid.SampledFrom(namespaces).Draw(t, "namespace")}}
	policy.Spec.PodSelector = *drawSelector(t)
	policy.Spec.PolicyTypes = rapid.SampledFrom([][]networkingv1.PolicyType{
		{networkingv1.PolicyTypeIngress}, {networkingv1.PolicyTypeEgress}, {networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
	}).Draw(t, "types")
	for range rapid.IntRange(0, 2).Draw(t, "rules") {
		peers := rapid.SliceOfN(rapid.Custom(drawPeer), 0, 2).Draw(t, "peers")
		open := rapid.SliceOfN(rapid.Custom(drawPolicyPort), 0, 2).Draw(t, "ports")
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: peers, Ports: open})
		policy.Spec.Egress = append(policy.Spec.Egress, networkingv1.NetworkPolicyEgressRule{To: peers, Ports: open})
	}
	return policy
}
