// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"github.com/mattfenwick/cyclonus/pkg/matcher"
	networkingv1 "k8s.io/api/networking/v1"
)

// Second is cyclonus' evaluator of policies. It panics on policies that are not valid. A requirement NotIn does not match what lacks the
// label, and a required label that is empty matches what lacks it; in Kubernetes, it is the other way round.
type Second struct{ policy *matcher.Policy }

// NewSecond reads policies, which must have types.
func NewSecond(policies []*networkingv1.NetworkPolicy) Second {
	return Second{matcher.BuildNetworkPolicies(false, policies)}
}

// Allowed does what the function of that name does.
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
