// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/load"
)

// took returns a variant whose rounds each have one call, with the next of the given latencies.
func took(name string, order *[]string, times ...time.Duration) measure.Variant {
	return measure.Variant{Name: name, Measure: func(context.Context) (*load.Result, error) {
		result := load.New()
		*order, result.Elapsed = append(*order, name), time.Second
		_ = result.Latency.RecordValue(times[0].Microseconds())
		times = times[1:]
		return result, nil
	}}
}

func TestInterleave(t *testing.T) {
	t.Parallel()
	var order []string
	all, err := measure.Interleave(t.Context(), 3,
		took("bare", &order, 10*time.Millisecond, 20*time.Millisecond, 40*time.Millisecond),
		took("warm", &order, 5*time.Millisecond, 16*time.Millisecond, 10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bare", "warm", "warm", "bare", "bare", "warm"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	got := all[1].Row("warm: p50", measure.Percentile(50))
	want := report.Row{Name: "warm: p50", Unit: "ms", Value: 10, Rounds: []float64{5, 16, 10}, Calls: 3}
	// Histograms keep three significant digits.
	near := cmp.Comparer(func(a, b float64) bool { return a > b*.99 && a < b*1.01 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("Row() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{.5, .8, .25}, got.Ratios(all[0].Row("", measure.Percentile(50))), near); diff != "" {
		t.Errorf("Ratios() (-want +got):\n%s", diff)
	}
}

func TestInterleaveFailsWithoutCalls(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, run := range map[string]func(context.Context) (*load.Result, error){
		"no call succeeded: map[Unavailable:3]": func(context.Context) (*load.Result, error) {
			result := load.New()
			result.Failed["Unavailable"] = 3
			return result, nil
		},
		"broken":        func(context.Context) (*load.Result, error) { return nil, broken },
		"no call ended": func(context.Context) (*load.Result, error) { return load.New(), nil },
	} {
		_, err := measure.Interleave(t.Context(), 1, measure.Variant{Name: "pod", Measure: run})
		if err == nil || !strings.Contains(err.Error(), "pod: "+name) {
			t.Errorf("Interleave() error = %v, want it to contain \"pod: %s\"", err, name)
		}
	}
}
