// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/load"
)

const (
	// warmUp is how long a turn's load runs before it counts, and timeout how long a call may take.
	warmUp, timeout = time.Second, 30 * time.Second
	// maxInFlight is how many calls of a constant rate may run at once.
	maxInFlight = 200
)

var (
	// rates are calls a second; the first is the one that has an aim.
	rates = []float64{10, 50, 100}
	// callers are how many make calls at once.
	callers = []int{1, 2, 4, 8, 16}
)

// warm makes a function runner ready with all pods of a function, and returns what calls it over one connection, as Porch
// does.
func (b *bench) warm(ctx context.Context) (call load.Call, image string, end func() error, err error) {
	if err := b.apply(ctx, "auto"); err != nil {
		return nil, "", nil, err
	}
	if image, err = b.function.push(ctx); err != nil {
		return nil, "", nil, err
	}
	client, err := b.Dial(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	call = b.evaluate(client, image)
	// Several calls at once have the function runner make all pods that it may.
	result, err := load.Closed{Calls: b.calls(5 * time.Second), Callers: 2 * runtime.NumCPU()}.Run(ctx, call)
	if err != nil {
		return nil, "", nil, errors.Join(err, client.Close())
	}
	if result.Lost() > 0 {
		return nil, "", nil, errors.Join(fmt.Errorf("warm up: calls failed: %v", result.Failed), client.Close())
	}
	return call, image, client.Close, nil
}

func (b *bench) evaluate(client *install.Client, image string) load.Call {
	return func(ctx context.Context) error {
		out, err := client.Evaluate(ctx, image, b.function.list)
		if err != nil {
			return err
		}
		return checked(out)
	}
}

// calls are a turn's.
func (b *bench) calls(duration time.Duration) load.Calls {
	return load.Calls{WarmUp: warmUp, Duration: duration, Timeout: timeout, Code: code}
}

// code names an error: the code of a call, or how a process ended.
func code(err error) string {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.String()
	}
	return install.Code(err).String()
}

// measureLatency has bare processes and warm calls take turns, at each rate.
func (b *bench) measureLatency(ctx context.Context) (err error) {
	warm, _, end, err := b.warm(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	for group, rate := range rates {
		atRate := load.Open{Calls: b.calls(b.turn), Rate: rate, MaxInFlight: maxInFlight}
		sums, err := b.turns(ctx, []turn{{atRate, b.function.bare}, {atRate, warm}})
		if err != nil {
			return err
		}
		bare, warm := sums[0], sums[1]
		b.addLatency(group == 0, fmt.Sprintf("warm call, %v/s", rate), warm, bare)
		b.latencies = append(b.latencies,
			report.Latencies{Name: fmt.Sprintf("bare process, %v/s", rate), Microseconds: bare.Latency, Group: group, Limit: true},
			report.Latencies{Name: fmt.Sprintf("warm call, %v/s", rate), Microseconds: warm.Latency, Group: group})
	}
	return nil
}

// turn is a load and what it calls.
type turn struct {
	load interface {
		Run(ctx context.Context, call load.Call) (*load.Result, error)
	}
	call load.Call
}

// turns has each turn run once in each round, and returns their sums.
func (b *bench) turns(ctx context.Context, all []turn) ([]*load.Result, error) {
	sums := make([]*load.Result, len(all))
	for i := range sums {
		sums[i] = load.New()
	}
	for range b.rounds {
		for i, one := range all {
			result, err := one.load.Run(ctx, one.call)
			if err != nil {
				return nil, err
			}
			sums[i].Add(result)
		}
	}
	for _, sum := range sums {
		if sum.Succeeded() == 0 {
			return nil, fmt.Errorf("no call succeeded: %v", sum.Failed)
		}
	}
	return sums, nil
}

// addLatency adds a row for each percentile. Those of a load with an aim have it.
func (b *bench) addLatency(aimed bool, what string, warm, bare *load.Result) {
	for _, p := range []struct {
		name       string
		percentile float64
		most       float64
	}{{"p50", 50, 1}, {"p90", 90, 0}, {"p99", 99, 5}, {"max", 100, 0}} {
		row := report.Row{
			What: what + ", " + p.name, Unit: "ms",
			Measured: milliseconds(warm.At(p.percentile)), Limit: milliseconds(bare.At(p.percentile)),
		}
		if aimed && p.most > 0 {
			row.Aim = &report.Aim{Of: report.Beyond, Bound: p.most}
		}
		b.add(row)
	}
	b.noteLost(what, warm)
	b.noteLost(what+", bare processes", bare)
}

// noteLost tells of calls that are not in the numbers.
func (b *bench) noteLost(what string, result *load.Result) {
	if result.Lost() > 0 {
		b.note("%s: %d calls are not in the numbers: failed %v, not sent %d.", what, result.Lost(), result.Failed, result.Unsent)
	}
}
