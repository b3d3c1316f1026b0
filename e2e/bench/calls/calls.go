// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package calls measures the calls of one evaluator: every kind of the function in turns with the bare process.
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

// Small is the list that most is measured with, in resources.
const Small = 10

// Callers are how many make calls at once.
var Callers = []int{1, 2, 4, 8, 16}

// Target is what is measured, and into which report.
type Target struct {
	// Evaluator begins the names of rows.
	Evaluator string
	// Bare returns what runs the function as a process on a list, and Call what calls a kind of it with one.
	Bare func(list []byte) load.Call
	Call func(kind *function.Kind, list []byte) load.Call
	// Rounds is how many turns each way gets, and Turn how long one is.
	Rounds int
	Turn   time.Duration
	// Goals are by name of row.
	Goals  map[string]*report.Goal
	Report *report.Report
}

// The names of rows.

// BySize is that of the p50 of one caller.
func BySize(evaluator, kind string, resources int) string {
	return fmt.Sprintf("%s, %s, %d resources: p50", evaluator, kind, resources)
}

// ByCallers is that of the throughput of so many.
func ByCallers(evaluator, kind string, callers int) string {
	return fmt.Sprintf("%s, %s, callers: %d", evaluator, kind, callers)
}

// ByRate is that of a percentile at a constant rate.
func ByRate(evaluator, kind string, rate, percentile int) string {
	return fmt.Sprintf("%s, %s, %d/s: p%d", evaluator, kind, rate, percentile)
}

// AddRate adds the latencies of a kind at a constant rate.
func (t Target) AddRate(kind *function.Kind, rate int, measured, bare turns.Series) {
	for _, percentile := range []int{50, 99} {
		t.add(fmt.Sprintf("%d calls a second", rate), ByRate(t.Evaluator, kind.Name, rate, percentile), turns.Percentile(float64(percentile)), measured, bare)
	}
}

func (t Target) add(section, what string, value turns.Value, measured, bare turns.Series) {
	t.Report.Add(turns.Row(section, what, value, measured, bare, t.Goals[what]))
}

// take has the bare process and all kinds take turns, on one list. The bare process is the first.
func (t Target) take(ctx context.Context, resources int, way func(name string, call load.Call) turns.Way) ([]turns.Series, error) {
	list := function.List(resources)
	ways := make([]turns.Way, 0, 1+len(function.Kinds))
	ways = append(ways, way(function.BareProcess, t.Bare(list)))
	for _, kind := range function.Kinds {
		ways = append(ways, way(kind.Name, t.Call(kind, list)))
	}
	return turns.Take(ctx, t.Rounds, ways...)
}

// MeasureSizes has one caller call each kind with lists of each size, back to back.
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

// MeasureRate has calls come at a constant rate, and returns the lines of a plot.
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

// MeasureCallers has more and more callers call each kind as fast as they can, and returns the lines of a plot.
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
