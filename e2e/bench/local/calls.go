// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/bench/turns"
	"github.com/krmfn/krmfn/e2e/load"
)

const (
	// rate is how many calls a second are due at a constant rate.
	rate = 40
	// small is the list that goals are for, in resources.
	small = 10
)

// callers are how many make calls at once; aimed is the one that has a goal.
var callers = []int{1, 2, 4, 8, 16}

const aimed = 8

// ways are the bare process and all kinds, on one list.
func (b *bench) ways(resources int, way func(name string, call load.Call) turns.Way) []turns.Way {
	list := function.List(resources)
	all := []turns.Way{way(function.BareProcess, b.runner.bare(list))}
	for _, k := range function.Kinds {
		all = append(all, way(k.Name, b.runner.call(k, list)))
	}
	return all
}

// shares are the goals of a small list's p50, as shares of the bare process's.
var shares = map[*function.Kind]*report.Goal{
	function.Standby: {Of: report.Ratio, Bound: .5},
	function.Worker:  {Of: report.Ratio, Bound: .2},
	function.Memo:    {Of: report.Ratio, Bound: .15},
}

// measureSizes has one caller call each kind with lists of each size, back to back.
func (b *bench) measureSizes(ctx context.Context) error {
	for _, resources := range function.Sizes {
		turn := b.turn
		if resources >= 1000 {
			// A bare process takes a quarter of a second for the largest list.
			turn = b.turn * time.Duration(1+resources/2500)
		}
		all, err := turns.Take(ctx, b.rounds, b.ways(resources, func(name string, call load.Call) turns.Way {
			return turns.Callers(name, 1, turn, call)
		})...)
		if err != nil {
			return err
		}
		for i, k := range function.Kinds {
			var goal *report.Goal
			if resources == small {
				goal = shares[k]
			}
			what := fmt.Sprintf("exec, %s, %d resources: p50", k.Name, resources)
			b.Add(turns.Row("one caller, back to back", what, turns.Percentile(50), all[i+1], all[0], goal))
		}
	}
	return nil
}

// measureRate has calls come at a constant rate.
func (b *bench) measureRate(ctx context.Context) error {
	all, err := turns.Take(ctx, b.rounds, b.ways(small, func(name string, call load.Call) turns.Way {
		return turns.Rate(name, rate, 2*b.turn, call)
	})...)
	if err != nil {
		return err
	}
	section := fmt.Sprintf("%d calls a second", rate)
	for i, k := range function.Kinds {
		what := fmt.Sprintf("exec, %s, %d/s: ", k.Name, rate)
		b.Add(turns.Row(section, what+"p50", turns.Percentile(50), all[i+1], all[0], shares[k]),
			turns.Row(section, what+"p99", turns.Percentile(99), all[i+1], all[0], nil))
	}
	b.latencies = turns.Latencies(all)
	return nil
}

// measureCallers has more and more callers call each kind as fast as they can.
func (b *bench) measureCallers(ctx context.Context) error {
	for _, count := range callers {
		all, err := turns.Take(ctx, b.rounds, b.ways(small, func(name string, call load.Call) turns.Way {
			return turns.Callers(name, count, b.turn/2, call)
		})...)
		if err != nil {
			return err
		}
		for i, k := range function.Kinds {
			var goal *report.Goal
			if k == function.Worker && count == aimed {
				goal = &report.Goal{Of: report.Ratio, AtLeast: true, Bound: 5}
			}
			b.Add(turns.Row("throughput by callers", fmt.Sprintf("exec, %s, callers: %d", k.Name, count), turns.Throughput, all[i+1], all[0], goal))
		}
		b.throughputs = turns.Throughputs(b.throughputs, count, all)
	}
	return nil
}
