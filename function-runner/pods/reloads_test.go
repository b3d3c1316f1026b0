// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/krmfn/krmfn/internal/server/telemetry"
)

// lastReloads returns krm_config_last_reload_successful by configuration.
func lastReloads(t *testing.T, reader sdkmetric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			gauge, ok := m.Data.(metricdata.Gauge[int64])
			if !ok || m.Name != "krm_config_last_reload_successful" {
				continue
			}
			for _, point := range gauge.DataPoints {
				config, _ := point.Attributes.Value("config")
				found[config.AsString()] = point.Value
			}
		}
	}
	return found
}

// The metrics of reloads exist from the start, even if no registry was used and there are no FunctionConfig objects.
func TestReloadsAreMeasured(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	reloads, err := telemetry.NewReloads(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	c := newConfig(t, wrapperImageVariable+"=wrapper")
	c.Telemetry.Reloads = reloads
	c.Options.Pod.Kubeconfig, c.Options.Pod.CacheConfig = cluster(t), file(t, "functions: []\n")
	c.Options.Registry.TLS, c.Options.Registry.TLSPath = true, t.TempDir()
	p, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx, func() {}) }()
	want := map[string]int64{"function_configs": 1, "pod_settings": 1, "registry_authorities": 0}
	got := lastReloads(t, reader)
	for ; !cmp.Equal(want, got) && ctx.Err() == nil; got = lastReloads(t, reader) {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("last reloads (-want +got):\n%s", diff)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
