// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"math/rand/v2"
	"time"
)

// warmUpSpread is the time over which the warm-ups of a function by all replicas are spread, so that one of them creates the pod and
// the others see it.
const warmUpSpread = 2 * time.Second

// WarmSoon is Warm for what all replicas do at the same time: it waits for a random moment first, or until ctx ends.
func (p *Pool) WarmSoon(ctx context.Context) {
	p.mu.Lock()
	live := p.live()
	p.mu.Unlock()
	if live > 0 {
		return
	}
	select {
	case <-time.After(rand.N(warmUpSpread)): //nolint:gosec // G404: not a secret
		p.Warm()
	case <-ctx.Done():
	}
}
