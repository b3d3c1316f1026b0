// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

// spread is over how long the warm-ups of a function by all replicas are spread, so that one of them makes the pod and the others
// see it.
const spread = 2 * time.Second

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

// pace waits until a pod may be made, and tells whether it is needed then: at once where the pool has calls, and otherwise when fewer
// than MaxWarmUps are starting. A node that is to start many pods at once has none of them ready in time. It returns, too, when the
// pod exists, whoever made it, and when the manager ends.
func (m *Manager) pace(mem *member) (needed bool) {
	if s := mem.pool.pool.Stats(); s.Waiting+s.Running > 0 {
		return true
	}
	turn, waited := m.takeTurn(mem)
	m.mu.Lock()
	defer m.mu.Unlock()
	if turn {
		mem.warmed = func() { <-m.warming }
		mem.settle()
	}
	return !waited || mem.due()
}

// takeTurn waits for a turn, and tells whether there is one and whether it had to wait. Calls that come to wait for the pod need none.
func (m *Manager) takeTurn(mem *member) (turn, waited bool) {
	select {
	case m.warming <- struct{}{}:
		return true, false
	default:
	}
	select {
	case m.warming <- struct{}{}:
		return true, true
	case <-mem.pool.pool.Awaited():
	case <-mem.exists:
	case <-m.life.Done():
	}
	return false, true
}

// due begins with a pod that had to wait for its turn, unless nobody needs it any more: the limits are others now, or another pool has
// taken the place of its own. The manager's lock is held.
func (mem *member) due() bool {
	p := mem.pool
	if p.members[mem.slot] != mem || mem.State != lifecycle.Requested {
		// Another replica has made it.
		return true
	}
	if p.pool.Withdraw(mem.slot, p.retired) {
		p.remove(mem)
		return false
	}
	mem.Since, mem.seen = time.Now(), time.Now()
	return true
}

// settle lets another pod start once one that was made for no call does not any more. The manager's lock is held.
func (mem *member) settle() {
	if mem.pool.members[mem.slot] != mem || !mem.In(lifecycle.Requested, lifecycle.Starting) {
		mem.endTurn()
	}
}

// endTurn lets another pod start. The manager's lock is held.
func (mem *member) endTurn() {
	if mem.warmed != nil {
		mem.warmed()
		mem.warmed = nil
	}
}

// client returns the client for a pod's creation: calls do not wait behind warm-up and upkeep.
func (p *Pool) client() *Client {
	if p.pool.Stats().Waiting > 0 {
		return p.m.config.Client
	}
	return p.m.upkeep()
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
