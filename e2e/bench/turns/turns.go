// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package turns runs several ways to do one thing in turns, so that other load on the machine affects all of them, and compares the results
// turn by turn.
package turns

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
	// maxInFlight is the maximum number of concurrent calls at a constant rate.
	maxInFlight = 200
	// tries is the maximum number of attempts at a turn in which no call ends.
	tries = 3
)

// Way is one way to do something.
type Way struct {
	Name string
	// Turn runs the way for the time of one turn.
	Turn func(ctx context.Context) (*load.Result, error)
}

// Callers returns a way in which concurrent callers make calls back to back. The first fifth of a turn is warm-up.
func Callers(name string, callers int, turn time.Duration, call load.Call) Way {
	return Way{name, func(ctx context.Context) (*load.Result, error) {
		return load.Closed{Calls: calls(turn), Callers: callers}.Run(ctx, call)
	}}
}

// Rate returns a way in which calls start at a constant rate per second, whether or not earlier calls have ended. The first fifth of a turn
// is warm-up.
func Rate(name string, rate float64, turn time.Duration, call load.Call) Way {
	return Way{name, func(ctx context.Context) (*load.Result, error) {
		return load.Open{Calls: calls(turn), Rate: rate, MaxInFlight: maxInFlight}.Run(ctx, call)
	}}
}

func calls(turn time.Duration) load.Calls {
	return load.Calls{WarmUp: turn / 5, Duration: turn - turn/5, Timeout: timeout, Code: Code}
}

// Code returns a name for an error: the exit status of a process, or the gRPC code of a call.
func Code(err error) string {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.String()
	}
	return status.Code(err).String()
}

// Fact returns the number and the length of turns as a fact for a report.
func Fact(rounds int, turn time.Duration) report.Fact {
	return report.Fact{Name: "turns", Value: fmt.Sprintf("%d of each way, of %v or a few times that", rounds, turn)}
}

// Series holds the results of a way.
type Series struct {
	Name  string
	Turns []*load.Result
	// All is the sum of all turns.
	All *load.Result
}

// take runs one turn. On a busy machine a turn can pass without an ended call; take repeats such a turn.
func (w Way) take(ctx context.Context) (*load.Result, error) {
	for range tries {
		result, err := w.Turn(ctx)
		if err != nil || result.Succeeded() > 0 {
			return result, err
		}
		if result.Lost() > 0 {
			return nil, fmt.Errorf("no call succeeded: %v", result.Failed)
		}
	}
	return nil, errors.New("no call ended within a turn: try longer ones")
}

// Take runs one turn of each way in each round, and reverses the order after each round. It fails if a turn of any way has no successful
// call.
func Take(ctx context.Context, rounds int, ways ...Way) ([]Series, error) {
	all := make([]Series, len(ways))
	order := make([]int, len(ways))
	for i, way := range ways {
		all[i], order[i] = Series{Name: way.Name, All: load.New()}, i
	}
	for range rounds {
		for _, i := range order {
			result, err := ways[i].take(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", ways[i].Name, err)
			}
			all[i].Turns = append(all[i].Turns, result)
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
	// rare means that a single turn has too few calls for the value.
	rare bool
}

// Throughput is the number of successful calls per second.
var Throughput = Value{"calls/s", (*load.Result).Throughput, false}

// Percentile returns a Value for a latency percentile, in milliseconds.
func Percentile(percent float64) Value {
	return Value{"ms", func(r *load.Result) float64 { return float64(r.At(percent).Microseconds()) / 1000 }, percent > 50}
}

// Row compares a value of one way with the value of another. Measured and Beside cover all calls. Ratios compares the turns of each round,
// unless the turns have too few calls for the value.
func Row(section, what string, value Value, measured, beside Series, goal *report.Goal) report.Row {
	row := report.Row{
		Section: section, What: what, Unit: value.Unit, Goal: goal,
		Measured: value.of(measured.All), Beside: value.of(beside.All), Lost: measured.All.Lost(),
	}
	for i := range measured.Turns {
		if value.rare {
			break
		}
		row.Ratios = append(row.Ratios, value.of(measured.Turns[i])/value.of(beside.Turns[i]))
	}
	return row
}

// Latencies returns the lines of a plot. The first line is dashed.
func Latencies(all []Series) []report.Latencies {
	lines := make([]report.Latencies, len(all))
	for i, s := range all {
		lines[i] = report.Latencies{Name: s.Name, Microseconds: s.All.Latency, Group: i, Limit: i == 0}
	}
	return lines
}

// Throughputs appends the throughput at a number of callers to the lines of a plot. The first line is dashed.
func Throughputs(lines []report.Throughputs, callers int, all []Series) []report.Throughputs {
	if lines == nil {
		lines = make([]report.Throughputs, len(all))
	}
	for i, s := range all {
		lines[i].Name, lines[i].Limit = s.Name, i == 0
		lines[i].Callers, lines[i].Rates = append(lines[i].Callers, callers), append(lines[i].Rates, s.All.Throughput())
	}
	return lines
}
