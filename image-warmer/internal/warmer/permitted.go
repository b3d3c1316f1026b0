// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package warmer

import (
	"context"

	"github.com/krmfn/krmfn/image-warmer/internal/resolve"
	"github.com/krmfn/krmfn/services/images/policy"
)

// permitted is a source of what the policy permits. Function runners would refuse the rest, so that nodes need not have it.
type permitted struct {
	resolve.Source
	policy *policy.Policy
}

// Digest returns the digest of an image that may run.
func (p permitted) Digest(ctx context.Context, ref string) (string, error) {
	if err := p.policy.Refused(ref); err != nil {
		return "", err
	}
	digest, err := p.Source.Digest(ctx, ref)
	if err != nil {
		return "", err
	}
	return digest, p.policy.RefusedDigest(ref, digest)
}
