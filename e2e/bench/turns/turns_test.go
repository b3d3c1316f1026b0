// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package turns_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/bench/turns"
	"github.com/krmfn/krmfn/e2e/load"
)

// took returns a way whose turns each have one call, with the next of the given latencies.
func took(name string, order *[]string, times ...time.Duration) turns.Way {
	return turns.Way{Name: name, Turn: func(context.Context) (*load.Result, error) {
		result := load.New()
		*order, result.Elapsed = append(*order, name), time.Second
		_ = result.Latency.RecordValue(times[0].Microseconds())
		times = times[1:]
		return result, nil
	}}
}

func TestRowComparesTurnByTurn(t *testing.T) {
	t.Parallel()
	var order []string
	all, err := turns.Take(t.Context(), 3,
		took("bare", &order, 10*time.Millisecond, 20*time.Millisecond, 40*time.Millisecond),
		took("warm", &order, 5*time.Millisecond, 16*time.Millisecond, 10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bare", "warm", "warm", "bare", "bare", "warm"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	goal := &report.Goal{Of: report.Ratio, Bound: .5}
	got := turns.Row("calls", "p50", turns.Percentile(50), all[1], all[0], goal)
	// Histograms keep three significant digits.
	for i, want := range []float64{.5, .8, .25} {
		if ratio := got.Ratios[i]; ratio < want*.99 || ratio > want*1.01 {
			t.Errorf("round %d: ratio %v, want %v", i, ratio, want)
		}
	}
	if got.Measured < 9.9 || got.Measured > 10.1 || got.Beside < 19.9 || got.Beside > 20.1 || got.Goal != goal || got.Section != "calls" || got.What != "p50" || got.Unit != "ms" {
		t.Errorf("Row() = %+v, want about 10 ms beside 20 ms", got)
	}
	if row := turns.Row("calls", "p99", turns.Percentile(99), all[1], all[0], nil); len(row.Ratios) > 0 || row.Measured < 15.9 {
		t.Errorf("Row() of p99 = %+v, want no ratios, because turns have fewer than 100 calls", row)
	}
}

func TestWayWithoutCallsIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, turn := range map[string]func(context.Context) (*load.Result, error){
		"no call succeeded: map[Unavailable:3]": func(context.Context) (*load.Result, error) {
			result := load.New()
			result.Failed["Unavailable"] = 3
			return result, nil
		},
		"broken":        func(context.Context) (*load.Result, error) { return nil, broken },
		"no call ended": func(context.Context) (*load.Result, error) { return load.New(), nil },
	} {
		if _, err := turns.Take(t.Context(), 1, turns.Way{Name: "pod", Turn: turn}); err == nil || !strings.Contains(err.Error(), "pod: "+name) {
			t.Errorf("Take() error = %v, want it to contain \"pod: %s\"", err, name)
		}
	}
}
