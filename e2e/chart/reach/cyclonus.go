// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"github.com/mattfenwick/cyclonus/pkg/matcher"
	networkingv1 "k8s.io/api/networking/v1"
)

// Second is the policy evaluator of cyclonus. It panics on invalid policies. It differs from Kubernetes in two ways: the operator NotIn
// does not match objects that lack the label, and a required label with an empty value does match them.
type Second struct{ policy *matcher.Policy }

// NewSecond returns an evaluator of policies. Each policy must set policyTypes.
func NewSecond(policies []*networkingv1.NetworkPolicy) Second {
	return Second{matcher.BuildNetworkPolicies(false, policies)}
}

// Allowed reports whether the policies allow a connection.
func (s Second) Allowed(from, to End, port Port) bool {
	return s.policy.IsTrafficAllowed(&matcher.Traffic{
		Source: from.peer(), Destination: to.peer(),
		ResolvedPort: int(port.Number), ResolvedPortName: port.Name, Protocol: port.Protocol,
	}).IsAllowed()
}

func (e End) peer() *matcher.TrafficPeer {
	peer := &matcher.TrafficPeer{IP: e.Address.String()}
	if e.Namespace != "" {
		peer.Internal = &matcher.InternalPeer{PodLabels: e.Labels, NamespaceLabels: e.NamespaceLabels, Namespace: e.Namespace}
	}
	return peer
}
