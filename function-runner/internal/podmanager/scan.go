// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/services/cluster/functionpod"
)

const (
	// patchesPerTTL is how often the last use of a busy pod is written while its time to live passes.
	patchesPerTTL = 4
	// scanners is how many requests a scan makes at once.
	scanners = 8
)

// scan deletes the pods that nobody needs, writes the last uses of the others, makes those that are missing, and forgets pools
// without pods. It ends at the first sign that the API server cannot be reached: what is left is for the next one.
func (m *Manager) scan(ctx context.Context) {
	pools := m.all()
	requests := make([]func(context.Context) error, 0, len(pools)+1)
	requests = append(requests, m.removeForeign)
	for _, p := range pools {
		// What expires is not patched, which would be the change that keeps it.
		idle := p.idle()
		requests = append(requests, m.expiries(p, idle)...)
		requests = append(requests, m.patches(p, idle)...)
		requests = append(requests, m.removals(p)...)
		p.pool.Fill()
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(scanners)
	for _, request := range requests {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			return request(ctx)
		})
	}
	_ = group.Wait() // it is logged
	m.forgetUnused()
}

// all returns the pools.
func (m *Manager) all() []*Pool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Collect(maps.Values(m.pools))
}

// patches returns the requests that tell the other replicas, and the pod janitor, of a pool's uses. A pod that is kept though
// nobody has used it is noted as used: nobody is to take it for one that is forgotten.
func (m *Manager) patches(p *Pool, except []pool.Idle) []func(context.Context) error {
	ttl := m.config.Limits(p.id.Image).TTL
	interval := ttl / patchesPerTTL
	var requests []func(context.Context) error
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, use := range p.pool.Uses() {
		mem := p.members[use.Slot]
		if mem == nil || mem.State != lifecycle.Ready || slices.ContainsFunc(except, func(i pool.Idle) bool { return i.Slot == use.Slot }) {
			continue
		}
		noted, last := lastUse(mem.object), use.Last
		if kept := time.Since(noted) > notedTTL(mem.object, ttl); kept && time.Since(mem.patched) > interval {
			last = time.Now()
		}
		if last.After(mem.patched) && last.Sub(noted) > interval {
			requests = append(requests, func(ctx context.Context) error { return m.patchLastUse(ctx, mem, last, ttl) })
		}
	}
	return requests
}

func (m *Manager) patchLastUse(ctx context.Context, mem *member, last time.Time, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q,%q:%q}}}`,
		functionpod.LastUseAnnotation, last.UTC().Format(time.RFC3339), functionpod.TTLAnnotation, ttl)
	_, err := m.upkeep().Pods.Patch(ctx, mem.name(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		if ctx.Err() == nil {
			m.config.Log.Warn("the last use of a function pod cannot be noted", "pod", mem.name(), "image", mem.pool.id.Image, "err", err)
		}
		return lostConnection(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	mem.patched = time.Now()
	return nil
}

// idle returns the pods that have been idle for longer than they may.
func (p *Pool) idle() []pool.Idle {
	p.m.mu.RLock()
	defer p.m.mu.RUnlock()
	return p.pool.Idle(p.lastUses())
}

// expiries returns the requests that delete idle pods.
func (m *Manager) expiries(p *Pool, idle []pool.Idle) []func(context.Context) error {
	m.mu.RLock()
	reason := "idle"
	if p.retired {
		reason = "replaced"
	}
	m.mu.RUnlock()
	requests := make([]func(context.Context) error, 0, len(idle))
	for _, pod := range idle {
		requests = append(requests, func(ctx context.Context) error {
			_, err := m.expire(ctx, p, pod.Slot, reason)
			return err
		})
	}
	return requests
}

// lastUses returns what tells when any replica has noted a use of the pod in a slot. The manager's lock is held, then too.
func (p *Pool) lastUses() func(slot int) time.Time {
	return func(slot int) time.Time {
		if mem := p.members[slot]; mem != nil && mem.object != nil {
			return lastUse(mem.object)
		}
		return time.Time{}
	}
}

// removals returns the requests that delete the pods which were given up and could not be deleted before, and that look for those which
// the watch does not show.
func (m *Manager) removals(p *Pool) []func(context.Context) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var requests []func(context.Context) error
	for _, mem := range p.members {
		if mem.State == lifecycle.Failed && !mem.deleting {
			requests = append(requests, func(ctx context.Context) error {
				m.discard(ctx, mem, "failed")
				return nil
			})
		}
		if m.unwatched(mem) {
			requests = append(requests, func(ctx context.Context) error { return m.find(ctx, mem) })
		}
	}
	return requests
}

// forgetUnused forgets the pools that have no pods and no calls.
func (m *Manager) forgetUnused() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for hash, p := range m.pools {
		if len(p.members) > 0 || p.users.Load() > 0 {
			continue
		}
		if s := p.pool.Stats(); s.BackingOff || s.Starting+s.Ready+s.Unreachable+s.Leaving+s.Running+s.Waiting > 0 {
			continue
		}
		delete(m.pools, hash)
		if m.current[p.id.Image] == p {
			delete(m.current, p.id.Image)
		}
	}
}

// lastUse returns when any replica has last noted a use of a pod, or when it was made.
func lastUse(pod *corev1.Pod) time.Time {
	if last, err := time.Parse(time.RFC3339, pod.Annotations[functionpod.LastUseAnnotation]); err == nil {
		return last
	}
	return pod.CreationTimestamp.Time
}

// notedTTL returns how long a pod may be idle as far as others know, otherwise where it does not say.
func notedTTL(pod *corev1.Pod, otherwise time.Duration) time.Duration {
	if ttl, err := time.ParseDuration(pod.Annotations[functionpod.TTLAnnotation]); err == nil {
		return ttl
	}
	return otherwise
}
