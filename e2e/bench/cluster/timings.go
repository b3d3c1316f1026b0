// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/bench/report"
)

// timings holds the latencies of calls in milliseconds, and the function's share of them.
type timings struct {
	mu          sync.Mutex
	call, spent []float64
}

// measureTimings measures how much of a call is the function, as the responses report it, and how much is not.
func (b *bench) measureTimings(ctx context.Context) error {
	list, image := function.List(function.Small), b.warm.images[function.Standby]
	var total, execute, rest []float64
	var count int64
	for range b.Rounds {
		var t timings
		series, err := measure.Interleave(ctx, 1, measure.Open("call", measure.Rate, 5*b.Turn, func(ctx context.Context) error {
			begin := time.Now()
			_, evaluation, err := b.warm.client.EvaluateReported(ctx, image, list)
			if err == nil {
				t.add(time.Since(begin), evaluation.GetTimings().GetExecute().AsDuration())
			}
			return err
		}))
		if err != nil {
			return err
		}
		count += series[0].All.Succeeded()
		call, spent := report.Median(t.call), report.Median(t.spent)
		total, execute, rest = append(total, call), append(execute, spent), append(rest, call-spent)
	}
	for _, row := range []report.Row{
		report.Samples("pod, a call: p50", "ms", total...),
		report.Samples("pod, a call, function: p50", "ms", execute...),
		report.Samples("pod, a call, all but the function: p50", "ms", rest...),
	} {
		row.Calls = count
		b.Add(row)
	}
	return nil
}

func (t *timings) add(call, execute time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.call, t.spent = append(t.call, milliseconds(call)), append(t.spent, milliseconds(execute))
}
