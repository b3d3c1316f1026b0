// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/services/cluster/podstatus"
)

// notStarted says which function pod does not start, why, and where it is known, what to do about it.
func notStarted(pod *corev1.Pod, p *podstatus.Problem) error {
	if advice := advise(pod.Spec.NodeName, p.Reason, p.Message); advice != "" {
		return fmt.Errorf("function pod %s does not start: %w: %s", pod.Name, p, advice)
	}
	return fmt.Errorf("function pod %s does not start: %w", pod.Name, p)
}

// pulls are the reasons of containers whose image a node could not get.
var pulls = []string{"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"}

// refusals are words of container runtimes whose credentials a registry refuses, or that have none.
var refusals = []string{
	"401 Unauthorized", "403 Forbidden", "no basic auth credentials", "authorization failed", "insufficient_scope", "pull access denied",
}

// pullFailures map the words of container runtimes to advice, with a place for the node. The function runner has reached the
// registry itself before a node pulls.
var pullFailures = []struct {
	words  []string
	advice string
}{
	{
		[]string{"x509:", "failed to verify certificate", "certificate signed by"},
		"%s, not the function runner, refuses the registry's certificate: have its container runtime trust the issuer",
	},
	{
		refusals,
		"%s, not the function runner, is refused by the registry: check the pull secrets of the function pods",
	},
	{
		[]string{"429 Too Many Requests", "toomanyrequests"},
		"the registry limits how much %s pulls: wait, use a pull secret with a higher limit, or a mirror",
	},
	{
		[]string{"no match for platform"},
		"the image is not built for the platform of %s",
	},
	{
		[]string{"no such host", "connection refused", "i/o timeout", "network is unreachable"},
		"%s, not the function runner, cannot reach the registry: check its network and the proxy of its container runtime",
	},
}

// advise returns what to do about a pull that failed; "" where that is not known.
func advise(node, reason, message string) string {
	if !slices.Contains(pulls, reason) {
		return ""
	}
	for _, t := range pullFailures {
		if mentions(message, t.words) {
			return fmt.Sprintf(t.advice, "node "+cmp.Or(node, "of the pod"))
		}
	}
	return ""
}

// mentions tells whether a message has any of some words.
func mentions(message string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(message, w) })
}
