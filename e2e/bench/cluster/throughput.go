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
	calls := b.calls(b.turn / 2)
	all := []turn{{load.Closed{Calls: calls, Callers: runtime.NumCPU()}, b.function.bare}}
	for _, count := range callers {
		all = append(all, turn{load.Closed{Calls: calls, Callers: count}, warm})
	}
	sums, err := b.turns(ctx, all)
	if err != nil {
		return err
	}
	bare := sums[0]
	sums = sums[1:]
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

// counted is a number of things in words.
func counted(count int, thing string) string {
	if count == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", count, thing)
}
