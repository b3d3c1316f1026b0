// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"k8s.io/client-go/kubernetes"

	"github.com/krmfn/krmfn/function-runner/internal/pullsecret"
	"github.com/krmfn/krmfn/services/images/credentials"
	"github.com/krmfn/krmfn/services/images/registry"
)

// registries says how registries are asked: trusting whom, and with which credentials, which the nodes get as a pull secret.
func (p *Pods) registries(client kubernetes.Interface) registry.Options {
	o := p.config.Options
	trust := registry.TrustOptions{Log: p.config.Log}
	if o.Registry.TLS {
		trust.Dir = o.Registry.TLSPath
	}
	p.trust = registry.NewTrust(trust)
	if !o.Registry.Private {
		return registry.Options{Keychain: credentials.Default(), Transport: p.trust}
	}
	p.keychain = registry.NewKeychain(registry.KeychainOptions{
		File: o.Registry.AuthPath, Default: credentials.Default(), Processes: p.config.Processes, Environ: p.config.Environ, Log: p.config.Log,
	})
	p.secret = pullsecret.New(pullsecret.Config{
		Client: client, Namespace: o.Pod.Namespace, Name: o.Registry.AuthSecret, File: o.Registry.AuthPath, Log: p.config.Log,
	})
	p.background = append(p.background, p.secret.Run)
	return registry.Options{Keychain: p.keychain, Transport: p.trust}
}

// pullSecrets names the Secrets that pods are pulled with, beside those of their template.
func (p *Pods) pullSecrets() []string {
	if p.secret == nil {
		return nil
	}
	return []string{p.config.Options.Registry.AuthSecret}
}
