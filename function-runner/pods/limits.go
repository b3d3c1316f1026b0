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

// limits returns the limits of a function: its own settings, and the flags for what they leave out.
func (p *Pods) limits(reference string) podmanager.Limits {
	s, o := p.settings.For(reference), p.config.Options.Pod
	c := pool.Config{
		MaxPods:    cmp.Or(s.MaxPods, o.MaxPods),
		MinPods:    s.MinPods,
		Waitlist:   cmp.Or(s.Waitlist, o.MaxWaitlist),
		PerPod:     o.MaxPerPod,
		MaxWaiting: o.MaxWaiting,
		TTL:        cmp.Or(s.TTL.Duration, o.TTL),
	}
	c.MaxPods = max(c.MaxPods, c.MinPods)
	return podmanager.Limits{Config: c, Resources: s.Resources}
}

func wrapperConcurrency(perPod int) int {
	if perPod == wrapperDefault {
		return 0
	}
	return perPod
}
