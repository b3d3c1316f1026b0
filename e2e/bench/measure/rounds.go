// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/load"
)

const (
	// timeout is the deadline of a call.
	timeout = 30 * time.Second
	// maxInFlight is the maximum number of concurrent calls of an open-loop load.
	maxInFlight = 200
	// attempts is the maximum number of times that a turn without a completed call is measured.
	attempts = 3
)

// Variant is one of the things to compare.
type Variant struct {
	Name string
	// Measure measures the variant once.
	Measure func(ctx context.Context) (*load.Result, error)
}

// Closed returns a variant with a closed-loop load: concurrent callers make calls back to back.
func Closed(name string, callers int, duration time.Duration, call load.Call) Variant {
	return Variant{name, func(ctx context.Context) (*load.Result, error) {
		return load.Closed{Calls: turn(duration), Callers: callers}.Run(ctx, call)
	}}
}

// Open returns a variant with an open-loop load: calls start at a constant rate per second, whether or not earlier calls have ended.
// Latencies count from when a call was due, which avoids coordinated omission.
func Open(name string, rate float64, duration time.Duration, call load.Call) Variant {
	return Variant{name, func(ctx context.Context) (*load.Result, error) {
		return load.Open{Calls: turn(duration), Rate: rate, MaxInFlight: maxInFlight}.Run(ctx, call)
	}}
}

// turn returns the settings of a turn. The first fifth is warm-up, and at most a second.
func turn(duration time.Duration) load.Calls {
	warmUp := min(duration/5, time.Second)
	return load.Calls{WarmUp: warmUp, Duration: duration - warmUp, Timeout: timeout, Code: Code}
}

// Code returns a name for an error: the exit status of a process, or the gRPC code of a call.
func Code(err error) string {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.String()
	}
	return status.Code(err).String()
}

// Series holds the results of a variant.
type Series struct {
	Name   string
	Rounds []*load.Result
	// All is the sum of all rounds.
	All *load.Result
}

// measure measures a variant once. On a busy machine a turn can pass without a completed call; measure repeats such a turn.
func (v Variant) measure(ctx context.Context) (*load.Result, error) {
	for range attempts {
		result, err := v.Measure(ctx)
		if err != nil || result.Succeeded() > 0 {
			return result, err
		}
		if result.Lost() > 0 {
			return nil, fmt.Errorf("no call succeeded: %v", result.Failed)
		}
	}
	return nil, errors.New("no call ended: try a longer --turn")
}

// Interleave measures each variant once in each round, and reverses the order after each round. Other load on the machine therefore affects
// all variants. Interleave fails if a measurement has no successful call.
func Interleave(ctx context.Context, rounds int, variants ...Variant) ([]Series, error) {
	all := make([]Series, len(variants))
	order := make([]int, len(variants))
	for i, variant := range variants {
		all[i], order[i] = Series{Name: variant.Name, All: load.New()}, i
	}
	for range rounds {
		for _, i := range order {
			result, err := variants[i].measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", variants[i].Name, err)
			}
			all[i].Rounds = append(all[i].Rounds, result)
			all[i].All.Add(result)
		}
		slices.Reverse(order)
	}
	return all, nil
}

// Value derives a number with a unit from a result.
type Value struct {
	Unit string
	of   func(*load.Result) float64
}

// Throughput is the number of successful calls per second.
var Throughput = Value{"calls/s", (*load.Result).Throughput}

// Percentile returns a Value for a latency percentile, in milliseconds.
func Percentile(percent float64) Value {
	return Value{"ms", func(r *load.Result) float64 { return float64(r.At(percent).Microseconds()) / 1000 }}
}

// Row returns a row with a value of a series.
func (s Series) Row(name string, value Value) report.Row {
	row := report.Row{Name: name, Unit: value.Unit, Value: value.of(s.All), Calls: s.All.Succeeded(), Lost: s.All.Lost()}
	for _, round := range s.Rounds {
		row.Rounds = append(row.Rounds, value.of(round))
	}
	return row
}
