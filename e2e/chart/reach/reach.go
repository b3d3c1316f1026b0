// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package reach evaluates which connections NetworkPolicies allow, according to the documentation of the API. It has two independent
// evaluators, so that tests can detect a mistake in one of them.
package reach

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// End is one end of a connection: a pod, or an address outside the cluster, which has an empty Namespace.
type End struct {
	Name            string // for messages
	Namespace       string
	NamespaceLabels map[string]string
	Labels          map[string]string
	Address         netip.Addr
}

func (e End) String() string { return e.Name }

// Port is the destination port of a connection. Name is the name of the container port, or empty.
type Port struct {
	Number   int32
	Name     string
	Protocol corev1.Protocol
}

func (p Port) String() string { return fmt.Sprintf("%d/%s", p.Number, p.Protocol) }

// Allowed reports whether the policies allow a connection. It does not consider that a pod's own node may always connect to the pod. It
// returns an error if a policy is invalid.
func Allowed(policies []*networkingv1.NetworkPolicy, from, to End, port Port) (bool, error) {
	out, err := direction(policies, networkingv1.PolicyTypeEgress, from, to, port)
	if err != nil || !out {
		return false, err
	}
	return direction(policies, networkingv1.PolicyTypeIngress, to, from, port)
}

// direction reports whether policies of one type allow traffic between an end and its peer. They do if no policy of that type selects the
// end, or if a rule of a policy that selects the end matches the peer and the port.
func direction(policies []*networkingv1.NetworkPolicy, way networkingv1.PolicyType, end, peer End, port Port) (bool, error) {
	isolated := false
	for _, policy := range policies {
		if end.Namespace == "" || policy.Namespace != end.Namespace || !has(policy, way) {
			continue
		}
		selected, err := matches(&policy.Spec.PodSelector, end.Labels)
		if err != nil {
			return false, fmt.Errorf("policy %s: %w", policy.Name, err)
		}
		if !selected {
			continue
		}
		isolated = true
		for _, r := range rules(policy, way) {
			fits, err := r.fits(policy.Namespace, peer, port)
			if err != nil || fits {
				return fits, err
			}
		}
	}
	return !isolated, nil
}

// has reports whether a policy applies to a direction. A policy without policyTypes applies to ingress, and to egress if it has egress
// rules.
func has(policy *networkingv1.NetworkPolicy, way networkingv1.PolicyType) bool {
	if types := policy.Spec.PolicyTypes; len(types) > 0 {
		return slices.Contains(types, way)
	}
	return way == networkingv1.PolicyTypeIngress || len(policy.Spec.Egress) > 0
}

// rule is an ingress or egress rule.
type rule struct {
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

func rules(policy *networkingv1.NetworkPolicy, way networkingv1.PolicyType) []rule {
	var all []rule
	if way == networkingv1.PolicyTypeIngress {
		for _, r := range policy.Spec.Ingress {
			all = append(all, rule{r.From, r.Ports})
		}
		return all
	}
	for _, r := range policy.Spec.Egress {
		all = append(all, rule{r.To, r.Ports})
	}
	return all
}

func (r rule) fits(namespace string, peer End, port Port) (bool, error) {
	open := len(r.ports) == 0
	for _, p := range r.ports {
		open = open || covers(p, port)
	}
	if !open || len(r.peers) == 0 {
		return open, nil
	}
	for _, p := range r.peers {
		if is, err := names(p, namespace, peer); err != nil || is {
			return is, err
		}
	}
	return false, nil
}

func covers(p networkingv1.NetworkPolicyPort, port Port) bool {
	protocol := corev1.ProtocolTCP
	if p.Protocol != nil {
		protocol = *p.Protocol
	}
	switch {
	case protocol != port.Protocol:
		return false
	case p.Port == nil:
		return true
	case p.Port.Type == intstr.String:
		return p.Port.StrVal == port.Name
	case p.EndPort != nil:
		return p.Port.IntVal <= port.Number && port.Number <= *p.EndPort
	}
	return p.Port.IntVal == port.Number
}

// names reports whether a peer in a policy of a namespace matches an end of a connection.
func names(p networkingv1.NetworkPolicyPeer, namespace string, end End) (bool, error) {
	if p.IPBlock != nil {
		return within(p.IPBlock, end.Address)
	}
	if end.Namespace == "" {
		return false, nil
	}
	inside := end.Namespace == namespace
	if p.NamespaceSelector != nil {
		var err error
		if inside, err = matches(p.NamespaceSelector, end.NamespaceLabels); err != nil {
			return false, err
		}
	}
	if !inside || p.PodSelector == nil {
		return inside, nil
	}
	return matches(p.PodSelector, end.Labels)
}

func within(block *networkingv1.IPBlock, address netip.Addr) (bool, error) {
	network, err := netip.ParsePrefix(block.CIDR)
	if err != nil || !network.Contains(address) {
		return false, err
	}
	for _, text := range block.Except {
		hole, err := netip.ParsePrefix(text)
		if err != nil || hole.Contains(address) {
			return false, err
		}
	}
	return true, nil
}

func matches(selector *metav1.LabelSelector, of map[string]string) (bool, error) {
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false, err
	}
	return matcher.Matches(labels.Set(of)), nil
}
