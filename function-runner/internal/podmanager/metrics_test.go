// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
)

// capacity holds the gauges of a function's capacity and of its use.
type capacity struct {
	MaxPods, MaxWaiting, Places int64
	Ready, Used, Waiting        int64
}

// gauges reads the metrics of a replica.
type gauges struct{ *sdkmetric.ManualReader }

// newGauges returns gauges, and a configuration change that makes a replica record them.
func newGauges() (gauges, func(*Config)) {
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	return gauges{reader}, func(c *Config) { c.Meter = provider.Meter("test") }
}

// want checks the capacity by image. An image that is missing in want must have no gauges.
func (g gauges) want(t *testing.T, want map[string]capacity) {
	t.Helper()
	synctest.Wait()
	var all metricdata.ResourceMetrics
	if err := g.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]capacity{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			gauge, ok := m.Data.(metricdata.Gauge[int64])
			if !ok {
				continue
			}
			for _, point := range gauge.DataPoints {
				image, _ := point.Attributes.Value("image")
				state, _ := point.Attributes.Value("state")
				c := got[image.AsString()]
				c.set(m.Name, state.AsString(), point.Value)
				got[image.AsString()] = c
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
}

func (c *capacity) set(name, state string, value int64) {
	field := map[string]*int64{
		"krm_function_pods_max": &c.MaxPods, "krm_function_waiting_max": &c.MaxWaiting, "krm_function_leases_max": &c.Places,
		"krm_function_leases": &c.Used, "krm_function_waiting": &c.Waiting,
		"krm_function_pods ready": &c.Ready,
	}
	if state != "" {
		name += " " + state
	}
	if into := field[name]; into != nil {
		*into = value
	}
}

const image = "r.io/fn"

// The capacity gauges follow the configuration, even before the next call.
func TestCapacityFollowsConfiguration(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		g, measured := newGauges()
		r := start(t, c, measured)
		g.want(t, map[string]capacity{})
		r.mustCall(digest("a"))
		g.want(t, map[string]capacity{image: {MaxPods: 1, MaxWaiting: 100, Places: 8, Ready: 1}})
		r.limit(func(l *Limits) { l.MaxPods, l.MaxWaiting, l.PerPod = 5, 7, 2 })
		g.want(t, map[string]capacity{image: {MaxPods: 5, MaxWaiting: 7, Places: 2, Ready: 1}})
		r.limit(func(l *Limits) { l.MinPods = 3 })
		r.rescan()
		g.want(t, map[string]capacity{image: {MaxPods: 5, MaxWaiting: 7, Places: 6, Ready: 3}})
		r.limit(func(l *Limits) { l.MaxPods, l.MinPods = 1, 0 })
		g.want(t, map[string]capacity{image: {MaxPods: 1, MaxWaiting: 7, Places: 6, Ready: 3}})
	})
}

// The capacity gauges follow the pods through creation, use and expiry.
func TestCapacityFollowsPods(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		g, measured := newGauges()
		r := start(t, c, measured)
		r.limit(func(l *Limits) { l.PerPod = 2 })
		pod := r.mustCall(digest("a"))
		running, letGo := block()
		c.Wrapper(pod).Handle(running)
		var calls []<-chan answer
		for range 3 {
			calls = append(calls, r.begin(fn, digest("a")))
		}
		g.want(t, map[string]capacity{image: {MaxPods: 1, MaxWaiting: 100, Places: 2, Ready: 1, Used: 2, Waiting: 1}})
		letGo()
		for _, call := range calls {
			if got := <-call; got.err != nil {
				t.Error(got.err)
			}
		}
		g.want(t, map[string]capacity{image: {MaxPods: 1, MaxWaiting: 100, Places: 2, Ready: 1}})
		time.Sleep(ttl + time.Minute)
		// The first scan deletes the pod, and the second scan at the latest forgets the unused pool.
		r.rescan()
		r.rescan()
		wantPods(t, c)
		g.want(t, map[string]capacity{})
	})
}

// A superseded pool gets no new pods, so that the limits of its function count once. Its running calls still count.
func TestCapacityOfReplacedPools(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		g, measured := newGauges()
		r := start(t, c, measured)
		pod := r.mustCall(digest("a"))
		running, letGo := block()
		c.Wrapper(pod).Handle(running)
		call := r.begin(fn, digest("a"))
		r.limit(func(l *Limits) {
			l.Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("3Gi")}}
		})
		r.mustCall(digest("a"))
		g.want(t, map[string]capacity{image: {MaxPods: 1, MaxWaiting: 100, Places: 16, Ready: 2, Used: 1}})
		letGo()
		if got := <-call; got.err != nil {
			t.Error(got.err)
		}
		time.Sleep(supersededTTL + time.Second)
		r.rescan()
		g.want(t, map[string]capacity{image: {MaxPods: 1, MaxWaiting: 100, Places: 8, Ready: 1}})
	})
}
