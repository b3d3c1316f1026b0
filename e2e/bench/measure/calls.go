// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/load"
)

// Rate is the rate of the open-loop load in calls per second, at which calls of the bare process do not overlap.
const Rate = 10

// rateTurns is the length of a turn at the constant rate, as a multiple of the others. With turns of a second, 100 calls count in each
// round, the least number for a 99th percentile.
const rateTurns = 11

// Callers holds the numbers of concurrent callers to measure.
var Callers = []int{8, 32}

// Names returns the names of the bare process and all kinds, in the order of the measured series.
func Names() []string {
	names := make([]string, 1, 1+len(function.Kinds))
	names[0] = function.BareProcess
	for _, kind := range function.Kinds {
		names = append(names, kind.Name)
	}
	return names
}

// Target is an evaluator to measure. Each kind of the function is compared with the bare process.
type Target struct {
	*Run
	// Evaluator is the prefix of row names.
	Evaluator string
	// Bare returns a call that runs the function as a process on a list. Call returns a call that sends a list to a kind of the function.
	Bare func(list []byte) load.Call
	Call func(kind *function.Kind, list []byte) load.Call
}

// AtRate returns the name of the row with a latency percentile at the constant rate.
func AtRate(evaluator, name string, percentile int) string {
	return fmt.Sprintf("%s, %s, %d calls/s: p%d", evaluator, name, Rate, percentile)
}

// BySize returns the name of the row with the p50 latency of one caller that makes calls back to back.
func BySize(evaluator, name string, resources int) string {
	return fmt.Sprintf("%s, %s, %d resources, back to back: p50", evaluator, name, resources)
}

// ByCallers returns the name of the row with the throughput of a number of callers.
func ByCallers(evaluator, name string, callers int) string {
	return fmt.Sprintf("%s, %s, %d callers: throughput", evaluator, name, callers)
}

// Measure measures latency at a constant rate, latency by size of the list, and throughput.
func (t Target) Measure(ctx context.Context) error {
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{{"constant rate", t.measureRate}, {"list sizes", t.measureSizes}, {"concurrent callers", t.measureCallers}} {
		if err := t.Part(ctx, t.Evaluator+", "+part.name, part.measure); err != nil {
			return err
		}
	}
	return nil
}

// interleave measures the bare process and all kinds on one list.
func (t Target) interleave(ctx context.Context, resources int, variant func(name string, call load.Call) Variant) ([]Series, error) {
	list := function.List(resources)
	variants := make([]Variant, 1, 1+len(function.Kinds))
	variants[0] = variant(function.BareProcess, t.Bare(list))
	for _, kind := range function.Kinds {
		variants = append(variants, variant(kind.Name, t.Call(kind, list)))
	}
	return Interleave(ctx, t.Rounds, variants...)
}

func (t Target) measureRate(ctx context.Context) error {
	all, err := t.interleave(ctx, function.Small, func(name string, call load.Call) Variant {
		return Open(name, Rate, rateTurns*t.Turn, call)
	})
	for _, series := range all {
		for _, percentile := range []int{50, 99} {
			t.Add(series.Row(AtRate(t.Evaluator, series.Name, percentile), Percentile(float64(percentile))))
		}
	}
	return err
}

func (t Target) measureSizes(ctx context.Context) error {
	for _, resources := range function.Sizes {
		// A bare process takes up to a quarter of a second for the largest list.
		turn := t.Turn * time.Duration(1+resources/5000)
		all, err := t.interleave(ctx, resources, func(name string, call load.Call) Variant { return Closed(name, 1, turn, call) })
		if err != nil {
			return err
		}
		for _, series := range all {
			t.Add(series.Row(BySize(t.Evaluator, series.Name, resources), Percentile(50)))
		}
	}
	return nil
}

func (t Target) measureCallers(ctx context.Context) error {
	for _, callers := range Callers {
		all, err := t.interleave(ctx, function.Small, func(name string, call load.Call) Variant { return Closed(name, callers, t.Turn, call) })
		if err != nil {
			return err
		}
		for _, series := range all {
			t.Add(series.Row(ByCallers(t.Evaluator, series.Name, callers), Throughput))
		}
	}
	return nil
}
