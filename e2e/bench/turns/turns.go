// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package turns has several ways to do one thing take turns, so that whatever else the machine does falls on all of them, and
// compares what they did turn by turn.
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
	// timeout is how long a call may take.
	timeout = 30 * time.Second
	// maxInFlight is how many calls of a constant rate may run at once.
	maxInFlight = 200
	// tries is how often a turn may be taken in which no call ends.
	tries = 3
)

// Way is one way to do something.
type Way struct {
	Name string
	// Turn does it for a turn's time.
	Turn func(ctx context.Context) (*load.Result, error)
}

// Callers is a way in which so many callers call, each as soon as its call before has ended. A fifth of the turn goes by
// before calls count.
func Callers(name string, callers int, turn time.Duration, call load.Call) Way {
	return Way{name, func(ctx context.Context) (*load.Result, error) {
		return load.Closed{Calls: calls(turn), Callers: callers}.Run(ctx, call)
	}}
}

// Rate is a way in which so many calls a second are due, whatever becomes of those before.
func Rate(name string, rate float64, turn time.Duration, call load.Call) Way {
	return Way{name, func(ctx context.Context) (*load.Result, error) {
		return load.Open{Calls: calls(turn), Rate: rate, MaxInFlight: maxInFlight}.Run(ctx, call)
	}}
}

func calls(turn time.Duration) load.Calls {
	return load.Calls{WarmUp: turn / 5, Duration: turn - turn/5, Timeout: timeout, Code: Code}
}

// Code names an error: the code of a call, or how a process ended.
func Code(err error) string {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.String()
	}
	return status.Code(err).String()
}

// Fact says how many turns there are, and how long.
func Fact(rounds int, turn time.Duration) report.Fact {
	return report.Fact{Name: "turns", Value: fmt.Sprintf("%d of each way, of %v or a few times that", rounds, turn)}
}

// Series is what a way did in its turns.
type Series struct {
	Name  string
	Turns []*load.Result
	// All has the calls of all turns.
	All *load.Result
}

// take takes a turn. A call that succeeds must have ended within it; on a busy machine it is taken again where none has.
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

// Take has each way take one turn in each round, every other round in the opposite order. A way without a call that
// succeeded in some turn is an error.
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

// Value is a number of a result, with its unit.
type Value struct {
	Unit string
	of   func(*load.Result) float64
	// rare says that a turn has too few calls to tell it.
	rare bool
}

// Throughput is how many calls succeeded in a second.
var Throughput = Value{"calls/s", (*load.Result).Throughput, false}

// Percentile is the latency that so many percent of the calls stayed within.
func Percentile(percent float64) Value {
	return Value{"ms", func(r *load.Result) float64 { return float64(r.At(percent).Microseconds()) / 1000 }, percent > 50}
}

// Row compares a value of one way with that of another. The values are of all calls; the ratios are those of each round's turns,
// where a turn has enough calls for them.
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

// Latencies are the lines of a plot, of which the first is dashed.
func Latencies(all []Series) []report.Latencies {
	lines := make([]report.Latencies, len(all))
	for i, s := range all {
		lines[i] = report.Latencies{Name: s.Name, Microseconds: s.All.Latency, Group: i, Limit: i == 0}
	}
	return lines
}

// Throughputs adds what so many callers reached to the lines of a plot, of which the first is dashed.
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
