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

	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/cluster/podstatus"
)

const (
	// unreachable is how long a pod may not answer that the kubelet holds for unready, too.
	unreachable = 10 * time.Second
	// patchesPerTTL is how often the last use of a busy pod is written while its time to live passes.
	patchesPerTTL = 4
	// scanners is how many requests a scan makes at once.
	scanners = 8
)

// scan deletes the pods that nobody needs, writes the last uses of the others, makes those that are missing, and forgets pools
// without pods.
func (m *Manager) scan(ctx context.Context) {
	pools := m.all()
	requests := make([]func(), 0, len(pools)+1)
	requests = append(requests, func() { m.removeForeign(ctx) })
	for _, p := range pools {
		// What expires is not patched, which would be the change that keeps it.
		expiries, expired := m.expiries(ctx, p)
		requests = append(requests, expiries...)
		requests = append(requests, m.patches(ctx, p, expired)...)
		requests = append(requests, m.removals(ctx, p)...)
		p.pool.Fill()
	}
	var group errgroup.Group
	group.SetLimit(scanners)
	for _, request := range requests {
		group.Go(func() error {
			request()
			return nil
		})
	}
	_ = group.Wait() // none has an error
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
func (m *Manager) patches(ctx context.Context, p *Pool, expired []pool.Idle) []func() {
	ttl := m.config.Limits(p.id.Image).TTL
	interval := ttl / patchesPerTTL
	var requests []func()
	for _, use := range p.pool.Uses() {
		m.mu.Lock()
		mem := p.members[use.Slot]
		if mem == nil || mem.leaving || slices.ContainsFunc(expired, func(i pool.Idle) bool { return i.Slot == use.Slot }) {
			m.mu.Unlock()
			continue
		}
		noted, last := lastUse(mem.pod), use.Last
		if kept := time.Since(noted) > notedTTL(mem.pod, ttl); kept && time.Since(mem.patched) > interval {
			last = time.Now()
		}
		if last.After(mem.patched) && last.Sub(noted) > interval {
			mem.patched = time.Now()
			name := mem.pod.Name
			requests = append(requests, func() { m.patchLastUse(ctx, p, name, last, ttl) })
		}
		m.mu.Unlock()
	}
	return requests
}

func (m *Manager) patchLastUse(ctx context.Context, p *Pool, pod string, last time.Time, ttl time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q,%q:%q}}}`,
		functionpod.LastUseAnnotation, last.UTC().Format(time.RFC3339), functionpod.TTLAnnotation, ttl)
	_, err := m.config.Client.CoreV1().Pods(m.config.Namespace).Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil && ctx.Err() == nil {
		m.config.Log.Warn("the last use of a function pod cannot be noted", "pod", pod, "image", p.id.Image, "err", err)
	}
}

// expiries returns the requests that delete what has been idle for longer than it may, and what that is.
func (m *Manager) expiries(ctx context.Context, p *Pool) ([]func(), []pool.Idle) {
	m.mu.RLock()
	uses := make(map[int]time.Time, len(p.members))
	for slot, mem := range p.members {
		uses[slot] = lastUse(mem.pod)
	}
	reason := "idle"
	if p.retired {
		reason = "replaced"
	}
	m.mu.RUnlock()
	expired := p.pool.Idle(func(slot int) time.Time { return uses[slot] })
	requests := make([]func(), 0, len(expired))
	for _, idle := range expired {
		requests = append(requests, func() {
			if p.pool.GiveUp(idle.Slot) {
				m.expire(ctx, p, idle.Slot, reason)
			}
		})
	}
	return requests, expired
}

// removals returns the requests that delete the pods which nobody can reach, and those that could not be deleted before.
func (m *Manager) removals(ctx context.Context, p *Pool) []func() {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var requests []func()
	for _, mem := range p.members {
		pod := mem.pod
		if mem.undeleted != "" && pod.DeletionTimestamp == nil {
			reason := mem.undeleted
			requests = append(requests, func() { m.discard(ctx, p, mem, pod, reason) })
			continue
		}
		if mem.leaving || mem.lost.IsZero() || time.Since(mem.lost) < unreachable || podstatus.Ready(pod) {
			continue
		}
		requests = append(requests, func() {
			m.fail(ctx, p, mem, "unreachable", fmt.Errorf("function pod %s does not answer, and the kubelet holds it for unready", pod.Name))
		})
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
