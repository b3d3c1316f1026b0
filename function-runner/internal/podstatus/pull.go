// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podstatus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// pulls are the reasons of containers whose image a node could not get.
var pulls = []string{"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"}

// trouble is what the words of a container runtime mean, for one who has seen that the function runner itself can reach the
// registry.
type trouble struct {
	words []string
	// advice has a place for the node.
	advice string
}

var troubles = []trouble{
	{
		[]string{"x509:", "failed to verify certificate", "certificate signed by"},
		"%s, not the function runner, refuses the registry's certificate: have its container runtime trust the issuer",
	},
	{
		[]string{"401 Unauthorized", "403 Forbidden", "no basic auth credentials", "authorization failed", "insufficient_scope", "pull access denied"},
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
	for _, t := range troubles {
		if slices.ContainsFunc(t.words, func(words string) bool { return strings.Contains(message, words) }) {
			return fmt.Sprintf(t.advice, "node "+cmp.Or(node, "of the pod"))
		}
	}
	return ""
}
