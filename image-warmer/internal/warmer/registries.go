// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package warmer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
)

// registries returns a registry client with the same credentials and certificate authorities as the function runner's. Call done to release it.
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

// result is the result of looking up one image.
type result struct {
	reference string
	// image is zero if err is not nil.
	image registry.Image
	err   error
	took  time.Duration
}

// images adds the results to the report. kept are the failed references that keep the metadata of an earlier run.
func (r *run) images(results []result, kept []string) {
	for _, one := range results {
		image := report.Image{Image: one.reference, Digest: one.image.Digest, Metadata: report.Resolved, Seconds: one.took.Seconds()}
		if one.err != nil {
			image.Metadata = report.Failed
			if slices.Contains(kept, one.reference) {
				image.Metadata = report.Kept
			}
			r.report.Fail(one.reference, "", one.err)
		}
		r.report.Images = append(r.report.Images, image)
	}
}

// resolve looks up images and returns one result for each reference, in order. When the context ends, the remaining lookups fail with its
// cause.
func (r *run) resolve(ctx context.Context, source registry.Source, references []string) []result {
	results := make([]result, len(references))
	var group errgroup.Group
	group.SetLimit(r.Options.Resolve.Parallel)
	for i, ref := range references {
		group.Go(func() error {
			results[i] = r.ask(ctx, source, ref)
			return nil
		})
	}
	_ = group.Wait()
	return results
}

func (r *run) ask(ctx context.Context, source registry.Source, ref string) result {
	start, timeout := time.Now(), r.Options.Resolve.Timeout
	limited, cancel := context.WithTimeoutCause(ctx, timeout,
		fmt.Errorf("no answer within %s: check the connection to the registry (network, proxy), or raise --lookup-timeout", timeout))
	defer cancel()
	one := result{reference: ref, err: context.Cause(limited)}
	digest := ""
	if one.err == nil {
		digest, one.err = source.Digest(limited, ref)
	}
	if one.err == nil {
		one.image, one.err = source.Image(limited, ref, digest)
	}
	one.took = time.Since(start)
	if one.err != nil {
		r.Log.WarnContext(ctx, "image cannot be resolved", "image", ref, "err", one.err)
	} else {
		r.Log.InfoContext(ctx, "image resolved", "image", ref, "digest", digest, "took", one.took)
	}
	return one
}

// permitted is a source that returns only the images that the policy permits, because function runners refuse other images.
type permitted struct {
	registry.Source
	policy *policy.Policy
}

// Digest returns the digest of an image, or an error if the policy does not permit the image.
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
