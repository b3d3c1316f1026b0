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
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

const (
	// patchesPerTTL is the number of times that the manager records the last use of a busy pod within its TTL.
	patchesPerTTL = 4
	// notingInterval is the maximum interval between records of a last use while several pools of a reference have pods.
	notingInterval = 15 * time.Second
	// scanners is the maximum number of concurrent requests of a scan.
	scanners = 8
)

// scan deletes idle and failed pods, records the last uses of the others, requests missing pods, and forgets unused pools. It ends when
// the API server is unreachable. The next scan continues.
func (m *Manager) scan(ctx context.Context) {
	workloads, contested := m.survey()
	requests := make([]request, 0, len(workloads)+1)
	requests = append(requests, m.removeForeign)
	for _, w := range workloads {
		requests = append(requests, w.upkeep(contested[w.ID.Image])...)
		w.Fill()
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

// survey updates the limits of all pools. It returns the pools, and the references for which several pools have pods: a pool that is
// superseded for one replica may be current for another.
func (m *Manager) survey() (workloads []*workload, contested map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.configure()
	contested = map[string]bool{}
	for id, w := range m.workloads {
		workloads = append(workloads, w)
		if len(w.members) > 0 {
			_, several := contested[id.Image]
			contested[id.Image] = several
		}
	}
	return workloads, contested
}

// request sends a request to the API server. It returns an error only if the server is unreachable.
type request = func(context.Context) error

// upkeep returns the requests that a pool needs now. It also drops outdated refusals of the registry.
func (w *workload) upkeep(contested bool) []request {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	maps.DeleteFunc(w.refusals, func(_ string, at time.Time) bool { return time.Since(at) > refusalPause })
	// An expiring pod must not be patched, because the change would make its deletion fail.
	idle := w.Idle(w.lastNoted)
	return slices.Concat(w.expiries(idle), w.patches(idle, contested), w.removals())
}

// patches returns the requests that record a pool's uses for the other replicas and the pod janitor. An unused pod that the pool keeps is
// also recorded as used, so that the pod janitor does not delete it.
func (w *workload) patches(expiring []pool.Idle, contested bool) []request {
	ttl := w.m.config.Limits(w.ID.Image).TTL
	interval := ttl / patchesPerTTL
	if contested {
		interval = min(interval, notingInterval)
	}
	var requests []request
	for _, use := range w.Uses() {
		mem := w.members[use.Pod.Ordinal]
		if mem == nil || mem.object == nil || slices.ContainsFunc(expiring, func(i pool.Idle) bool { return i.Pod == use.Pod }) {
			continue
		}
		noted, last := lastUse(mem.object), use.Last
		if kept := time.Since(noted) > notedTTL(mem.object, ttl); kept && time.Since(mem.noted) > interval {
			last = time.Now()
		}
		if last.After(mem.noted) && last.Sub(noted) > interval {
			requests = append(requests, func(ctx context.Context) error {
				if !mem.mustNote(last, interval) {
					return nil
				}
				return w.m.patchLastUse(ctx, mem, last, ttl)
			})
		}
	}
	return requests
}

// mustNote reports whether the recorded last use is older than the interval. Another replica may have recorded a use since the scan
// began, because the rate limit of requests makes scans of many pods slow.
func (mem *member) mustNote(last time.Time, interval time.Duration) bool {
	m := mem.workload.m
	m.mu.RLock()
	defer m.mu.RUnlock()
	return last.Sub(lastUse(mem.object)) > interval
}

func (m *Manager) patchLastUse(ctx context.Context, mem *member, last time.Time, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q,%q:%q}}}`,
		functionpod.LastUseAnnotation, last.UTC().Format(time.RFC3339), functionpod.TTLAnnotation, ttl)
	_, err := m.upkeep().Pods.Patch(ctx, mem.name(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	if err != nil {
		if ctx.Err() == nil {
			m.config.Log.Warn("the last use of a function pod cannot be noted", "pod", mem.name(), "image", mem.workload.ID.Image, "err", err)
		}
		return lostConnection(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	mem.noted = time.Now()
	return nil
}

// expiries returns the requests that delete idle pods.
func (w *workload) expiries(idle []pool.Idle) []request {
	reason := "idle"
	if w.m.superseded(w) {
		reason = "replaced"
	}
	requests := make([]request, 0, len(idle))
	for _, i := range idle {
		mem := w.members[i.Pod.Ordinal]
		requests = append(requests, func(ctx context.Context) error {
			_, err := w.m.expire(ctx, mem, reason)
			return err
		})
	}
	return requests
}

// lastNoted returns the last use of a pod that any replica has recorded.
func (w *workload) lastNoted(pod *pool.Pod) time.Time {
	if mem := w.members[pod.Ordinal]; mem != nil && mem.object != nil {
		return lastUse(mem.object)
	}
	return time.Time{}
}

// removals returns the requests that delete failed pods which could not be deleted before, and the requests that read pods which the
// watch does not show.
func (w *workload) removals() []request {
	var requests []request
	for _, mem := range w.members {
		if !mem.deleting && mem.In(lifecycle.Failed) {
			requests = append(requests, func(ctx context.Context) error {
				w.m.discard(ctx, mem, "failed")
				return nil
			})
		}
		if w.m.unwatched(mem) {
			requests = append(requests, func(ctx context.Context) error { return w.m.find(ctx, mem) })
		}
	}
	return requests
}

// forgetUnused forgets the pools without pods and calls.
func (m *Manager) forgetUnused() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, w := range m.workloads {
		if len(w.members) > 0 || !w.IsUnused() {
			continue
		}
		delete(m.workloads, id)
		if m.current[id.Image] == w {
			delete(m.current, id.Image)
		}
	}
}

// lastUse returns the recorded last use of a pod, or its creation time if there is none.
func lastUse(pod *corev1.Pod) time.Time {
	if last, err := time.Parse(time.RFC3339, pod.Annotations[functionpod.LastUseAnnotation]); err == nil {
		return last
	}
	return pod.CreationTimestamp.Time
}

// notedTTL returns the TTL from a pod's annotations, or otherwise if there is none.
func notedTTL(pod *corev1.Pod, otherwise time.Duration) time.Duration {
	if ttl, err := time.ParseDuration(pod.Annotations[functionpod.TTLAnnotation]); err == nil {
		return ttl
	}
	return otherwise
}
