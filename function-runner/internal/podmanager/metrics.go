// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/services/images/reference"
)

// boundaries are the histogram buckets of the start phases, in seconds.
var boundaries = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}

// metrics holds the instruments that are recorded when an event occurs.
type metrics struct {
	phases            metric.Float64Histogram
	starts, evictions metric.Int64Counter
}

// measure creates the instruments. Recorded on events:
//
//   - krm_function_pod_starts (image): cold starts, which are function pods that became ready, as seen by one replica
//   - krm_function_pod_start_duration (image, phase), seconds: phases resolve, create, ip (until the pod has an address) and dial (until
//     its wrapper server serves)
//   - krm_function_pod_evictions (image, reason): deleted function pods
//
// Observed on collection:
//
//   - krm_function_pods (image, state): function pods by state, see package lifecycle
//   - krm_function_waiting (image): calls that wait for a lease
//   - krm_function_pods_max, krm_function_waiting_max (image): maximum number of pods and of waiting calls
//   - krm_function_leases, krm_function_leases_max (image): calls of this replica in ready pods, and how many these pods can run at once
//   - krm_function_pools_backing_off (image): pools that delay the next pod because pods failed to start
func (m *Manager) measure(meter metric.Meter) error {
	var errs [10]error
	m.metrics.phases, errs[0] = meter.Float64Histogram("krm_function_pod_start_duration", metric.WithUnit("s"),
		metric.WithDescription("Where the time of starting function pods goes."), metric.WithExplicitBucketBoundaries(boundaries...))
	m.metrics.starts, errs[1] = meter.Int64Counter("krm_function_pod_starts", metric.WithDescription("Function pods that became ready."))
	m.metrics.evictions, errs[2] = meter.Int64Counter("krm_function_pod_evictions", metric.WithDescription("Function pods that were deleted."))
	pods, err := meter.Int64ObservableGauge("krm_function_pods", metric.WithDescription("Function pods by state."))
	errs[3] = err
	waiting, err := meter.Int64ObservableGauge("krm_function_waiting", metric.WithDescription("Calls that wait for a lease on a function pod."))
	errs[4] = err
	backingOff, err := meter.Int64ObservableGauge("krm_function_pools_backing_off",
		metric.WithDescription("Pools whose function pods failed to start and that make no other for a while."))
	errs[5] = err
	maxPods, err := meter.Int64ObservableGauge("krm_function_pods_max", metric.WithDescription("Function pods that there may be."))
	errs[6] = err
	maxWaiting, err := meter.Int64ObservableGauge("krm_function_waiting_max", metric.WithDescription("Calls that may wait for a lease on a function pod."))
	errs[7] = err
	leases, err := meter.Int64ObservableGauge("krm_function_leases", metric.WithDescription("Calls that run in function pods."))
	errs[8] = err
	maxLeases, err := meter.Int64ObservableGauge("krm_function_leases_max", metric.WithDescription("Calls that ready function pods can run at once."))
	errs[9] = err
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for name, s := range m.sizes() {
			label := attribute.String("image", name)
			for _, state := range lifecycle.States {
				o.ObserveInt64(pods, s.pods[state], metric.WithAttributes(label, attribute.String("state", string(state))))
			}
			o.ObserveInt64(waiting, s.waiting, metric.WithAttributes(label))
			o.ObserveInt64(backingOff, s.backingOff, metric.WithAttributes(label))
			o.ObserveInt64(maxPods, s.maxPods, metric.WithAttributes(label))
			o.ObserveInt64(maxWaiting, s.maxWaiting, metric.WithAttributes(label))
			o.ObserveInt64(leases, s.leases, metric.WithAttributes(label))
			o.ObserveInt64(maxLeases, s.maxLeases, metric.WithAttributes(label))
		}
		return nil
	}, pods, waiting, backingOff, maxPods, maxWaiting, leases, maxLeases)
	return err
}

// sizes sums the sizes of all pools of one repository.
type sizes struct {
	pods                map[lifecycle.State]int64
	waiting, backingOff int64
	maxPods, maxWaiting int64
	leases, maxLeases   int64
}

// sizes returns the sizes by repository.
func (m *Manager) sizes() map[string]*sizes {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := map[string]*sizes{}
	for id, w := range m.workloads {
		name := repository(id.Image)
		if all[name] == nil {
			all[name] = &sizes{pods: map[lifecycle.State]int64{}}
		}
		s := w.Stats()
		all[name].waiting += int64(s.Waiting)
		limits := w.Config()
		all[name].maxLeases += int64(s.Ready * limits.PerPod)
		all[name].leases += int64(s.Running)
		// A superseded pool gets no new calls, so that its limits do not count.
		if !m.superseded(w) {
			all[name].maxPods += int64(limits.MaxPods)
			all[name].maxWaiting += int64(limits.MaxWaiting)
		}
		if s.BackingOff {
			all[name].backingOff++
		}
		for _, mem := range w.members {
			all[name].pods[mem.State()]++
		}
	}
	return all
}

func (m *metrics) phase(ctx context.Context, ref, phase string, d time.Duration) {
	m.phases.Record(ctx, d.Seconds(), metric.WithAttributes(attribute.String("image", repository(ref)), attribute.String("phase", phase)))
}

// started records a pod that has become ready for the first time.
func (m *metrics) started(ctx context.Context, ref string, mem *member) {
	m.starts.Add(ctx, 1, metric.WithAttributes(attribute.String("image", repository(ref))))
	m.phase(ctx, ref, "ip", mem.addressed.Sub(mem.seen))
	m.phase(ctx, ref, "dial", time.Since(mem.addressed))
}

func (m *metrics) evicted(ctx context.Context, ref, reason string) {
	m.evictions.Add(ctx, 1, metric.WithAttributes(attribute.String("image", repository(ref)), attribute.String("reason", reason)))
}

func repository(ref string) string {
	name, _, _ := reference.Split(ref)
	return name
}
