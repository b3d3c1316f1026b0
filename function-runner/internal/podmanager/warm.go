// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"sync"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

// pace waits until a pod may be created, and reports whether it is needed then: at once if the pool has calls, and otherwise when fewer
// than MaxWarmUps are starting. A node that is to start many pods at once has none of them ready in time. It returns, too, when the
// pod exists, whoever created it, and when the manager ends.
func (m *Manager) pace(mem *member) (needed bool) {
	if s := mem.workload.Stats(); s.Waiting+s.Running > 0 {
		return true
	}
	turn, waited := m.takeTurn(mem)
	m.mu.Lock()
	defer m.mu.Unlock()
	if turn {
		mem.endWarmUp = sync.OnceFunc(func() { <-m.warming })
		m.spawn(func() { mem.keepTurn(m.life) })
	}
	return !waited || mem.isDue()
}

// takeTurn waits for a turn to warm up, and reports whether there is one and whether it had to wait. A pod that calls wait for needs
// none.
func (m *Manager) takeTurn(mem *member) (turn, waited bool) {
	select {
	case m.warming <- struct{}{}:
		return true, false
	default:
	}
	status, changed := mem.Status()
	if status.State != lifecycle.Requested {
		return false, true
	}
	select {
	case m.warming <- struct{}{}:
		return true, true
	case <-mem.workload.Demand():
	case <-changed:
	case <-m.life.Done():
	}
	return false, true
}

// keepTurn keeps a pod's turn to warm up until the pod has started, or will not.
func (mem *member) keepTurn(ctx context.Context) {
	for status, changed := mem.Status(); status.In(lifecycle.Requested, lifecycle.Starting) && !status.Served; status, changed = mem.Status() {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		if !mem.workload.Has(mem.Pod) {
			break
		}
	}
	mem.endWarmUp()
}

// endTurn lets the next pod warm up.
func (mem *member) endTurn() {
	if mem.endWarmUp != nil {
		mem.endWarmUp()
	}
}

// isDue begins with a pod that had to wait for its turn, unless nobody needs it any more: the limits are others now, or another pool
// has superseded its own.
func (mem *member) isDue() bool {
	w := mem.workload
	if w.members[mem.Ordinal] != mem || !mem.In(lifecycle.Requested) {
		// Another replica has created it.
		return true
	}
	if w.Withdraw(mem.Pod, w.m.superseded(w)) {
		w.forget(mem)
		return false
	}
	mem.seen = time.Now()
	return true
}

// client returns the client for a pod's creation: calls do not wait behind warm-up and upkeep.
func (w *workload) client() *Client {
	if w.Stats().Waiting > 0 {
		return w.m.config.Client
	}
	return w.m.upkeep()
}
