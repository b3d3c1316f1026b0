// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// counted returns the values of a reader's integer metrics, by name and labels.
func counted(t *testing.T, reader sdkmetric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	add := func(name string, labels attribute.Set, value int64) {
		found[fmt.Sprintf("%s %s", name, labels.Encoded(attribute.DefaultEncoder()))] = value
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, point := range data.DataPoints {
					add(m.Name, point.Attributes, point.Value)
				}
			case metricdata.Gauge[int64]:
				for _, point := range data.DataPoints {
					add(m.Name, point.Attributes, point.Value)
				}
			}
		}
	}
	return found
}

func TestReloads(t *testing.T) {
	t.Parallel()
	broken := errors.New("it is broken")
	type reload struct {
		changed bool
		err     error
	}
	for name, tc := range map[string]struct {
		reloads                      []reload
		successes, failures, inForce int64
	}{
		"first load":              {reloads: []reload{{}}, successes: 1, inForce: 1},
		"no change":               {reloads: []reload{{changed: true}, {}, {}}, successes: 1, inForce: 1},
		"change":                  {reloads: []reload{{}, {changed: true}}, successes: 2, inForce: 1},
		"invalid":                 {reloads: []reload{{}, {err: broken}, {err: broken}}, successes: 1, failures: 2},
		"invalid from the start":  {reloads: []reload{{err: broken}}, failures: 1},
		"invalid, then unchanged": {reloads: []reload{{}, {err: broken}, {}}, successes: 2, failures: 1, inForce: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := sdkmetric.NewManualReader()
			r, err := NewReloads(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
			if err != nil {
				t.Fatal(err)
			}
			for _, reload := range tc.reloads {
				r.Record("policy", reload.changed, reload.err)
			}
			want := map[string]int64{
				"krm_config_reloads config=policy,result=success": tc.successes, "krm_config_reloads config=policy,result=failure": tc.failures,
				"krm_config_last_reload_successful config=policy": tc.inForce,
			}
			if diff := cmp.Diff(want, counted(t, reader)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	var none *Reloads
	none.Record("policy", true, nil)
}
