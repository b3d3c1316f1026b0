// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/function-runner/internal/pullsecret"
	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/providers/signatures"
)

// know loads image metadata from the configured files.
func (p *Pods) know() {
	o := p.config.Options.Images
	var before []registry.Image
	if o.Kept != "" {
		kept := newKeptImages(o.Kept, p.images, p.config.Log)
		before = kept.Load()
		p.background = append(p.background, kept.Run)
	}
	if o.Warmed != "" {
		warmed := newWarmedImages(o.Warmed, p.images, p.config.Log, before...)
		_, _ = warmed.Load() // Load logs errors
		p.reload("image_metadata", o.Warmed, warmed.Load, nil)
	}
}

// permit applies the image policy, if one is configured. It fails if the policy is missing or invalid.
func (p *Pods) permit(ctx context.Context, client signatures.Source, meter metric.Meter) error {
	p.resolver = p.images
	file := p.config.Options.Images.Policy
	if file == "" {
		return nil
	}
	policy, err := policy.NewStore(file, p.checkPolicy, p.config.Log)
	if err != nil {
		return err
	}
	p.reload("image_policy", file, policy.Load, nil)
	if p.signatures, err = signatures.NewChecker(context.WithoutCancel(ctx), client, meter); err != nil {
		return err
	}
	p.resolver, err = newPolicyResolver(p.images, p.signatures, policy.Policy, meter, p.config.Log)
	return err
}

// checkPolicy rejects policies that this configuration cannot enforce. It also applies to policies that are reloaded.
func (p *Pods) checkPolicy(candidate *policy.Policy) error {
	if p.config.Options.Pod.ImageForm == options.ImageFormReference && candidate.JudgesDigests() {
		return errors.New("--pod-image-form=reference lets nodes resolve tags, which bypasses the rules for digests and signatures: " +
			"set --pod-image-form=digest, or remove these rules")
	}
	return signatures.Check(candidate)
}

// registries returns the options of the registry client: trusted certificate authorities and credentials. It also sets up the pull
// secret.
func (p *Pods) registries(cluster *client.Cluster) registry.Options {
	o := p.config.Options
	trust := registry.TrustOptions{Log: p.config.Log}
	if o.Registry.TLS {
		trust.Dir, trust.Reloaded = o.Registry.TLSPath, p.reloaded("registry_authorities")
	}
	p.trust = registry.NewTrust(trust)
	if o.Registry.TLS {
		p.background = append(p.background, p.trust.Run)
	}
	if !o.Registry.Private {
		return registry.Options{Keychain: p.config.Keychain, Transport: p.trust}
	}
	p.keychain = registry.NewKeychain(registry.KeychainOptions{
		File: o.Registry.AuthPath, Default: p.config.Keychain, Processes: p.config.Processes, Environ: p.config.Environ, Log: p.config.Log,
	})
	p.secret = pullsecret.New(pullsecret.Config{
		Client: secrets(cluster, o.Pod.Namespace), Namespace: o.Pod.Namespace, Name: o.Registry.AuthSecret, File: o.Registry.AuthPath, Log: p.config.Log,
		Attempted: p.reloaded("registry_credentials"),
	})
	p.background = append(p.background, p.secret.Run)
	return registry.Options{Keychain: p.keychain, Transport: p.trust}
}

// pullSecrets returns the names of the pull secrets that are added to the template's.
func (p *Pods) pullSecrets() []string {
	secrets := slices.Clone(p.config.Options.Pod.PullSecrets)
	if auth := p.config.Options.Registry.AuthSecret; p.secret != nil && !slices.Contains(secrets, auth) {
		secrets = append(secrets, auth)
	}
	return secrets
}
