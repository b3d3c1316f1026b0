// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// wrapperDefault is how many calls a wrapper server runs at once without being told. One of Porch's does not know the flag.
const wrapperDefault = 8

// limits returns the limits of a function: its own settings, those of a FunctionConfig object for what they leave out, and the
// flags for what both do.
func (p *Pods) limits(reference string) podmanager.Limits {
	s, object, o := p.settings.For(reference), p.configured(reference), p.config.Options.Pod
	c := pool.Config{
		MaxPods:    cmp.Or(s.MaxPods, object.MaxPods, o.MaxPods),
		MinPods:    s.MinPods,
		Waitlist:   cmp.Or(s.Waitlist, object.Waitlist, o.MaxWaitlist),
		PerPod:     o.MaxPerPod,
		MaxWaiting: o.MaxWaiting,
		TTL:        cmp.Or(s.TTL.Duration, object.TTL, o.TTL),
	}
	c.MaxPods = max(c.MaxPods, c.MinPods)
	return podmanager.Limits{Config: c, Overrides: object.Overrides, Resources: s.Resources}
}

func wrapperConcurrency(perPod int) int {
	if perPod == wrapperDefault {
		return 0
	}
	return perPod
}
