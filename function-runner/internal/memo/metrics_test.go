// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package memo_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/krmfn/krmfn/function-runner/internal/memo"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	c, err := memo.New(2500, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test"))
	if err != nil {
		t.Fatal(err)
	}
	e := c.Keep("fn", &counted{})
	for _, list := range []string{"a", "a", "b", "c", "d", "e", "e"} {
		if _, err := e.Evaluate(t.Context(), request(list)); err != nil {
			t.Fatal(err)
		}
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		var points []metricdata.DataPoint[int64]
		switch values := m.Data.(type) {
		case metricdata.Sum[int64]:
			points = values.DataPoints
		case metricdata.Gauge[int64]:
			points = values.DataPoints
		}
		for _, point := range points {
			result, _ := point.Attributes.Value("result")
			got[m.Name+" "+result.AsString()] = point.Value
		}
	}
	size := got["krm_result_cache_bytes "]
	delete(got, "krm_result_cache_bytes ")
	want := map[string]int64{
		"krm_result_cache_lookups hit": 2, "krm_result_cache_lookups miss": 5, "krm_result_cache_evictions ": 1, "krm_result_cache_entries ": 4,
	}
	if diff := cmp.Diff(want, got); diff != "" || size <= 0 || size > 2500 {
		t.Errorf("%d bytes, want 1 to 2500; metrics (-want +got):\n%s", size, diff)
	}
}
