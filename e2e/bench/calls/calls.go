// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package calls measures calls of one evaluator. Each kind of the function takes turns with the bare process.
package calls

import (
	"context"
	"fmt"
	"time"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/bench/turns"
	"github.com/krmfn/krmfn/e2e/load"
)

// Small is the number of resources in the list that most measurements use.
const Small = 10

// Callers holds the numbers of concurrent callers to measure.
var Callers = []int{1, 2, 4, 8, 16}

// Target describes an evaluator to measure and the report that receives the rows.
type Target struct {
	// Evaluator is the prefix of row names.
	Evaluator string
	// Bare returns a call that runs the function as a process on a list. Call returns a call that sends a list to a kind of the function.
	Bare func(list []byte) load.Call
	Call func(kind *function.Kind, list []byte) load.Call
	// Rounds is the number of turns of each way, and Turn is the length of a turn.
	Rounds int
	Turn   time.Duration
	// Goals maps row names to goals.
	Goals  map[string]*report.Goal
	Report *report.Report
}

// BySize returns the name of the row with the p50 latency of one caller.
func BySize(evaluator, kind string, resources int) string {
	return fmt.Sprintf("%s, %s, %d resources: p50", evaluator, kind, resources)
}

// ByCallers returns the name of the row with the throughput of a number of callers.
func ByCallers(evaluator, kind string, callers int) string {
	return fmt.Sprintf("%s, %s, callers: %d", evaluator, kind, callers)
}

// ByRate returns the name of the row with a latency percentile at a constant rate.
func ByRate(evaluator, kind string, rate, percentile int) string {
	return fmt.Sprintf("%s, %s, %d/s: p%d", evaluator, kind, rate, percentile)
}

// AddRate adds a row for each reported latency percentile (p50 and p99) of a kind at a constant rate.
func (t Target) AddRate(kind *function.Kind, rate int, measured, bare turns.Series) {
	for _, percentile := range []int{50, 99} {
		t.add(fmt.Sprintf("%d calls a second", rate), ByRate(t.Evaluator, kind.Name, rate, percentile), turns.Percentile(float64(percentile)), measured, bare)
	}
}

func (t Target) add(section, what string, value turns.Value, measured, bare turns.Series) {
	t.Report.Add(turns.Row(section, what, value, measured, bare, t.Goals[what]))
}

// take runs the bare process and all kinds in turns on one list. The first series is the bare process.
func (t Target) take(ctx context.Context, resources int, way func(name string, call load.Call) turns.Way) ([]turns.Series, error) {
	list := function.List(resources)
	ways := make([]turns.Way, 0, 1+len(function.Kinds))
	ways = append(ways, way(function.BareProcess, t.Bare(list)))
	for _, kind := range function.Kinds {
		ways = append(ways, way(kind.Name, t.Call(kind, list)))
	}
	return turns.Take(ctx, t.Rounds, ways...)
}

// MeasureSizes measures each kind with one caller, which sends lists of each size back to back.
func (t Target) MeasureSizes(ctx context.Context) error {
	for _, resources := range function.Sizes {
		// A bare process takes up to a quarter of a second for the largest list.
		turn := t.Turn * time.Duration(1+resources/2500)
		all, err := t.take(ctx, resources, func(name string, call load.Call) turns.Way { return turns.Callers(name, 1, turn, call) })
		if err != nil {
			return err
		}
		for i, kind := range function.Kinds {
			t.add("one caller, back to back", BySize(t.Evaluator, kind.Name, resources), turns.Percentile(50), all[i+1], all[0])
		}
	}
	return nil
}

// MeasureRate measures each kind at a constant rate of calls and returns the lines of a plot.
func (t Target) MeasureRate(ctx context.Context, rate int) ([]report.Latencies, error) {
	all, err := t.take(ctx, Small, func(name string, call load.Call) turns.Way { return turns.Rate(name, float64(rate), 2*t.Turn, call) })
	if err != nil {
		return nil, err
	}
	for i, kind := range function.Kinds {
		t.AddRate(kind, rate, all[i+1], all[0])
	}
	return turns.Latencies(all), nil
}

// MeasureCallers measures the throughput of each kind at each number of callers and returns the lines of a plot.
func (t Target) MeasureCallers(ctx context.Context) (lines []report.Throughputs, err error) {
	for _, callers := range Callers {
		all, err := t.take(ctx, Small, func(name string, call load.Call) turns.Way { return turns.Callers(name, callers, t.Turn*2/3, call) })
		if err != nil {
			return nil, err
		}
		for i, kind := range function.Kinds {
			t.add("throughput by callers", ByCallers(t.Evaluator, kind.Name, callers), turns.Throughput, all[i+1], all[0])
		}
		lines = turns.Throughputs(lines, callers, all)
	}
	return lines, nil
}
