// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"math/rand/v2"
	"time"
)

// warmUpSpread is the time over which the replicas spread their warm-ups of a function, so that one replica creates the pod and the
// others see it.
const warmUpSpread = 2 * time.Second

// WarmSoon is like Warm for events that affect all replicas at the same time: it waits for a random delay first, or until ctx ends.
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
