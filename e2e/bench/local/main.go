// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command local measures calls and renders on this machine and compares calls with bare processes of the same function. It needs no
// cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/e2e/bench/calls"
	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/parts"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/bench/turns"
)

type options struct {
	bin, out, kpt string
	rounds        int
	turn          time.Duration
}

func main() {
	var o options
	pflag.StringVar(&o.bin, "bin", "bin", "directory of the binaries")
	pflag.StringVar(&o.out, "out", "build/bench", "directory for the report and its plots")
	pflag.StringVar(&o.kpt, "kpt", "kpt", "kpt command to compare renders with; without one there is no such comparison")
	pflag.IntVar(&o.rounds, "rounds", 5, "how many turns each way gets")
	pflag.DurationVar(&o.turn, "turn", 700*time.Millisecond, "how long a turn is; those of large lists and of constant rates are longer")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// rate is the constant rate in calls per second.
const rate = 40

// goals maps row names to goals.
var goals = map[string]*report.Goal{
	calls.BySize("exec", function.Standby.Name, 10):       {Of: report.Ratio, Bound: .5},
	calls.ByRate("exec", function.Standby.Name, rate, 50): {Of: report.Ratio, Bound: .5},
	calls.BySize("exec", function.Worker.Name, 10):        {Of: report.Ratio, Bound: .2},
	calls.ByCallers("exec", function.Worker.Name, 8):      {Of: report.Ratio, AtLeast: true, Bound: 5},
	calls.BySize("exec", function.Memo.Name, 10):          {Of: report.Ratio, Bound: .15},
}

// bench is the state of one run.
type bench struct {
	options
	runner *runner
	report.Report
	latencies   []report.Latencies
	throughputs []report.Throughputs
}

// run measures everything and writes the report.
func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "krmfn-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	b := &bench{options: o}
	if b.Facts, err = report.Machine(); err != nil {
		return err
	}
	if b.runner, err = startRunner(context.WithoutCancel(ctx), o.bin, dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.runner.stop()) }()
	b.Title = "Calls and renders on this machine, beside bare processes of the same functions"
	b.Facts = append(b.Facts, turns.Fact(o.rounds, o.turn))
	target := calls.Target{Evaluator: "exec", Bare: b.runner.bare, Call: b.runner.call, Rounds: o.rounds, Turn: o.turn, Goals: goals, Report: &b.Report}
	err = parts.Run(ctx, &b.Report,
		parts.Part{What: "one caller, back to back", Measure: target.MeasureSizes},
		parts.Part{What: "a constant rate", Measure: func(ctx context.Context) (err error) {
			b.latencies, err = target.MeasureRate(ctx, rate)
			return err
		}},
		parts.Part{What: "many callers", Measure: func(ctx context.Context) (err error) {
			b.throughputs, err = target.MeasureCallers(ctx)
			return err
		}},
		parts.Part{What: "renders", Measure: func(ctx context.Context) error { return b.measureRenders(ctx, filepath.Join(dir, "packages")) }},
	)
	return errors.Join(err, b.write())
}

func (b *bench) write() error {
	return b.Write(os.Stdout, b.out, report.Pictures{
		"latency.svg": func(w io.Writer) error {
			return report.WriteLatencies(w, fmt.Sprintf("Calls of an executable, %v a second", rate), b.latencies)
		},
		"throughput.svg": func(w io.Writer) error {
			return report.WriteThroughputs(w, "Calls of an executable by callers", b.throughputs)
		},
	})
}
