// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

const (
	// warming is how many pods are requested at once that no caller waits for, and impatience how long a caller may wait for such
	// a request to begin.
	warming    = 4
	impatience = 50 * time.Millisecond
	// spread is over how long the warm-ups of a function by all replicas are spread, so that one of them makes the pod and
	// the others see it.
	spread = 2 * time.Second
)

// Warm makes a pod where there is none. It does not wait for it.
func (p *Pool) Warm() { p.pool.Warm() }

// WarmSoon is Warm for what all replicas do at the same time: it waits for a moment of its own first.
func (p *Pool) WarmSoon(ctx context.Context) {
	if p.live() {
		return
	}
	select {
	case <-time.After(rand.N(spread)): //nolint:gosec // G404: not a secret
		p.pool.Warm()
	case <-ctx.Done():
	}
}

// lane returns the client for a pod's creation, and what to call after it: callers do not wait behind warm-up and upkeep.
func (p *Pool) lane(ctx context.Context) (kubernetes.Interface, func()) {
	for p.pool.Stats().Waiting == 0 && ctx.Err() == nil {
		select {
		case p.m.warming <- struct{}{}:
			return p.m.upkeep(), func() { <-p.m.warming }
		case <-time.After(impatience):
		}
	}
	return p.m.config.Client, func() {}
}

// live tells whether the pool has a pod that takes calls, or will.
func (p *Pool) live() bool {
	p.m.mu.RLock()
	defer p.m.mu.RUnlock()
	for _, mem := range p.members {
		if mem.In(lifecycle.Requested, lifecycle.Starting, lifecycle.Ready) {
			return true
		}
	}
	return false
}
