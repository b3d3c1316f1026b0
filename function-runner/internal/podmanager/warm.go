// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"sync"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
)

// pace blocks until a pod may be created, and reports whether it is still needed. A pool with calls does not wait. A pod without calls
// waits until fewer than MaxWarmUps such pods are starting, because pods that start at the same time slow each other down. pace also
// returns when the pod exists, whichever replica has created it, and when the manager ends.
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

// takeTurn waits for a warm-up slot, and reports whether it took one and whether it had to wait. It takes none if calls begin to wait for
// the pod.
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

// keepTurn holds a pod's warm-up slot until the pod has started, or has failed.
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

// endTurn releases the pod's warm-up slot.
func (mem *member) endTurn() {
	if mem.endWarmUp != nil {
		mem.endWarmUp()
	}
}

// isDue reports whether to create a pod that had to wait for its slot. It withdraws the pod if the pool no longer needs it, because the
// limits have changed or the pool was superseded.
func (mem *member) isDue() bool {
	w := mem.workload
	if w.members[mem.Ordinal] != mem || !mem.In(lifecycle.Requested) {
		// Another replica has created the pod.
		return true
	}
	if w.Withdraw(mem.Pod, w.m.superseded(w)) {
		w.forget(mem)
		return false
	}
	mem.seen = time.Now()
	return true
}

// client returns the client that creates the pool's pods, so that calls do not queue behind warm-up and upkeep.
func (w *workload) client() *Client {
	if w.Stats().Waiting > 0 {
		return w.m.config.Client
	}
	return w.m.upkeep()
}
