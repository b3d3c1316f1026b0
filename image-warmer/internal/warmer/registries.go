// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package warmer

import (
	"context"
	"slices"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/services/images/policy"
	"github.com/krmfn/krmfn/services/images/registry"
)

// registries returns what asks registries, as the function runner does, until done is called.
func (r *run) registries() (_ *registry.Client, done func()) {
	o := &r.Options.Registry
	trust := registry.TrustOptions{Owner: "the image warmer", Log: r.Log}
	if o.TLS {
		trust.Dir = o.TLSPath
	}
	transport := registry.NewTrust(trust)
	options := registry.Options{Keychain: r.Keychain, Transport: transport, Timeout: r.Options.Resolve.Timeout}
	if !o.Private {
		return registry.NewClient(options), transport.CloseIdleConnections
	}
	keychain := registry.NewKeychain(registry.KeychainOptions{File: o.AuthPath, Default: r.Keychain, Environ: r.Environ, Log: r.Log})
	options.Keychain = keychain
	return registry.NewClient(options), func() {
		transport.CloseIdleConnections()
		keychain.Close()
	}
}

// images reports what registries have said. kept are the references that have metadata all the same.
func (r *run) images(kept []string) {
	for _, result := range r.results {
		image := report.Image{Image: result.Reference, Digest: result.Image.Digest, Metadata: report.Resolved, Seconds: result.Took.Seconds()}
		if result.Err != nil {
			image.Metadata = report.Failed
			if slices.Contains(kept, result.Reference) {
				image.Metadata = report.Kept
			}
			r.report.Fail(result.Reference, "", result.Err)
		}
		r.report.Images = append(r.report.Images, image)
	}
}

// permitted is a source of what the policy permits. Function runners would refuse the rest, so that nodes need not have it.
type permitted struct {
	registry.Source
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
