// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"

	"github.com/krmfn/krmfn/function-runner/internal/knownimages"
	"github.com/krmfn/krmfn/function-runner/internal/permission"
	"github.com/krmfn/krmfn/services/images/policy"
	"github.com/krmfn/krmfn/services/images/registry"
	"github.com/krmfn/krmfn/services/server/configfile"
)

// know makes the images known that files tell of.
func (p *Pods) know() {
	o := p.config.Options.Images
	var before []registry.Image
	if o.Kept != "" {
		kept := knownimages.NewKept(o.Kept, p.images, p.config.Log)
		before = kept.Load()
		p.background = append(p.background, kept.Run)
	}
	if o.Warmed != "" {
		warmed := knownimages.NewWarmed(o.Warmed, p.images, p.config.Log, before...)
		warmed.Load()
		p.background = append(p.background, warmed.Run)
	}
}

// permit has only those images run that the image policy permits. The error is that the policy is missing or wrong.
func (p *Pods) permit() error {
	p.resolver = p.images
	file := p.config.Options.Images.Policy
	if file == "" {
		return nil
	}
	policy, err := policy.NewStore(file, p.config.Log)
	if err != nil {
		return err
	}
	p.background = append(p.background, func(ctx context.Context) {
		if err := configfile.Watch(ctx, file, p.config.Log, func() { policy.Load() }); err != nil {
			p.config.Log.Warn("changes of the image policy take effect at the next start only", "err", err)
		}
	})
	p.resolver, err = permission.NewResolver(p.images, policy.Policy, p.config.Log)
	return err
}
