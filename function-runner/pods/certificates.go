// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podcertificates"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager"
	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/cluster/connect"
)

// certificateLifetime is the lifetime of the function runner's client certificates, which it renews itself.
const certificateLifetime = 24 * time.Hour

// certify loads the certificate authority for function pods, and makes new pods trust it if TLS is enabled for them.
func (p *Pods) certify(ctx context.Context, cluster *client.Cluster, source *podmanager.TemplateSource) error {
	o := p.config.Options.Pod
	mode := podcertificates.Own
	switch {
	case o.TLS == options.PodTLSOff, o.TLS == options.PodTLSAuto && o.Template != "":
		mode = podcertificates.Unused
	case o.CAExternal:
		mode = podcertificates.External
	}
	p.certificates = podcertificates.New(podcertificates.Config{
		Client: secrets(cluster, connect.OwnNamespace()), Namespace: connect.OwnNamespace(), Name: o.CASecret, Mode: mode,
		AuthorityLifetime: o.CALifetime, Lifetime: certificateLifetime, Log: p.config.Log,
	})
	if err := p.certificates.Measure(p.meter()); err != nil {
		return fmt.Errorf("make the metrics: %w", err)
	}
	p.background = append(p.background, func(ctx context.Context) { p.certificates.Run(ctx, p.trustChanged) })
	if mode != podcertificates.Unused {
		source.Trust, source.TrustAlways = p.certificates.Trust, o.TLS == options.PodTLSAlways
	}
	return p.certificates.Load(ctx)
}

// trustChanged applies changed certificate authorities.
func (p *Pods) trustChanged() {
	changed, err := p.templates.Trust()
	if err != nil {
		p.config.Log.Error("function pods trust the certificate authorities that they trusted before", "err", err)
	}
	if changed {
		p.templateChanged()
	}
}
