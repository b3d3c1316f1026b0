// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/internal/cluster/podstatus"
)

// notStarted returns the error for a pod that does not start, with the reason and, if known, advice.
func notStarted(pod *corev1.Pod, p *podstatus.Problem) error {
	if advice := advise(pod.Spec.NodeName, p.Reason, p.Message); advice != "" {
		return fmt.Errorf("function pod %s does not start: %w: %s", pod.Name, p, advice)
	}
	return fmt.Errorf("function pod %s does not start: %w", pod.Name, p)
}

// pulls are the reasons of containers whose images could not be pulled.
var pulls = []string{"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"}

// refusals are messages of container runtimes whose registry credentials are missing or invalid.
var refusals = []string{
	"401 Unauthorized", "403 Forbidden", "no basic auth credentials", "authorization failed", "insufficient_scope", "pull access denied",
}

// pullFailures map messages of container runtimes to advice. %s stands for the node. The advice names the node, because the function
// runner has reached the registry itself before.
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

// advise returns advice for a failed pull, or an empty string if there is none.
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

// mentions reports whether a message contains any of the words.
func mentions(message string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(message, w) })
}
