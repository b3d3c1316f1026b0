// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/load"
)

// measureThroughput has warm calls by so many callers take turns with bare processes, of which as many run at once as there
// are processors.
func (b *bench) measureThroughput(ctx context.Context) (err error) {
	warm, _, end, err := b.warm(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	bare, sums, err := b.throughput(ctx, warm)
	if err != nil {
		return err
	}
	best := 0
	for i, sum := range sums {
		if sum.Throughput() > sums[best].Throughput() {
			best = i
		}
	}
	for i, sum := range sums {
		row := report.Row{What: "warm throughput, " + counted(callers[i], "caller"), Unit: "calls/s", Measured: sum.Throughput(), Limit: bare.Throughput()}
		b.noteLost(row.What, sum)
		if i == best {
			row.Aim = &report.Aim{Of: report.Ratio, AtLeast: true, Bound: .85}
		}
		b.add(row)
	}
	b.noteLost("throughput of bare processes", bare)
	b.note("The limit of throughput is that of bare processes, %d at once. The aim is for the most that any number of callers reach.", runtime.NumCPU())
	return nil
}

// throughput returns the sums of the bare processes' turns, and of those of each number of callers.
func (b *bench) throughput(ctx context.Context, warm load.Call) (bare *load.Result, sums []*load.Result, err error) {
	bare, sums = load.New(), make([]*load.Result, len(callers))
	for i := range sums {
		sums[i] = load.New()
	}
	calls := b.calls(b.turn / 2)
	for range b.rounds {
		result, err := load.Closed{Calls: calls, Callers: runtime.NumCPU()}.Run(ctx, b.function.bare)
		if err != nil {
			return nil, nil, err
		}
		bare.Add(result)
		for i, count := range callers {
			result, err := load.Closed{Calls: calls, Callers: count}.Run(ctx, warm)
			if err != nil {
				return nil, nil, err
			}
			sums[i].Add(result)
		}
	}
	if bare.Succeeded() == 0 {
		return nil, nil, fmt.Errorf("no bare process succeeded: %v", bare.Failed)
	}
	return bare, sums, nil
}

// counted is a number of things in words.
func counted(count int, thing string) string {
	if count == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", count, thing)
}
