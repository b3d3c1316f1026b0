// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command cluster measures the function runner in the cluster for end-to-end tests, and compares it with two physical limits: the same
// function as a bare process, and the same pod without a function runner. One run takes all measurements in turns, so that other load on
// the machine affects both sides.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/e2e/bench/calls"
	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/parts"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

type options struct {
	bin, out              string
	rounds, starts, pools int
	turn                  time.Duration
}

func main() {
	var o options
	pflag.StringVar(&o.bin, "bin", "bin", "directory of the binaries")
	pflag.StringVar(&o.out, "out", "build/bench-e2e", "directory for the report and its plots")
	pflag.IntVar(&o.rounds, "rounds", 4, "how many turns each way gets")
	pflag.DurationVar(&o.turn, "turn", 800*time.Millisecond, "how long a turn is; those of large lists and of constant rates are longer")
	pflag.IntVar(&o.starts, "starts", 5, "how many pods and cold calls of each kind are timed")
	pflag.IntVar(&o.pools, "pools", 1000, "how many idle pools the function runner's memory is measured with")
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

// goals maps the names of rows about calls to their goals.
var goals = map[string]*report.Goal{
	calls.ByRate("pod", function.Standby.Name, slow, 50): {Of: report.Ratio, Bound: .8},
	calls.ByRate("pod", function.Standby.Name, slow, 99): {Of: report.Beyond, Bound: 3},
	calls.ByRate("pod", function.Standby.Name, fast, 50): {Of: report.Ratio, Bound: .8},
	calls.ByCallers("pod", function.Standby.Name, 8):     {Of: report.Ratio, AtLeast: true, Bound: .95},
	calls.BySize("pod", function.Memo.Name, 10):          {Of: report.Ratio, Bound: .15},
	calls.BySize("pod", function.Standby.Name, 5000):     {Of: report.Ratio, Bound: 1.05},
}

// bench is the state of one run.
type bench struct {
	options
	*install.Installation
	report.Report
	function *images
	warm     warm
	target   calls.Target
	// latencies, throughputs and bars are the data of the plots.
	latencies   []report.Latencies
	throughputs []report.Throughputs
	bars        []report.Starts
	// pod is the most recent function pod that a measurement has recorded, as the function runner created it.
	pod *corev1.Pod
}

// run measures everything and writes the report.
func run(ctx context.Context, o options) (err error) {
	installation, err := install.Open(ctx, progress.New(os.Stdout).Step)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "krmfn-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{options: o, Installation: installation}
	if b.function, err = newImages(ctx, o.bin, dir, b.Registry); err != nil {
		return err
	}
	if err := b.describe(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Remove(context.WithoutCancel(ctx))) }()
	defer func() {
		if b.warm.client != nil {
			err = errors.Join(err, b.warm.client.Close())
		}
	}()
	b.target = calls.Target{Evaluator: "pod", Bare: b.function.bare, Call: b.call, Rounds: o.rounds, Turn: o.turn, Goals: goals, Report: &b.Report}
	// The most disruptive measurements come last.
	err = parts.Run(ctx, &b.Report,
		parts.Part{What: "warm up, without TLS", Measure: func(ctx context.Context) error { return b.makeWarm(ctx, "off") }},
		parts.Part{What: "where a call's time goes", Measure: b.measureHop},
		parts.Part{What: "warm up", Measure: func(ctx context.Context) error { return b.makeWarm(ctx, "auto") }},
		parts.Part{What: "calls at a constant rate", Measure: func(ctx context.Context) error {
			_, err := b.target.MeasureRate(ctx, fast)
			return err
		}},
		parts.Part{What: "one caller, back to back", Measure: b.target.MeasureSizes},
		parts.Part{What: "many callers", Measure: func(ctx context.Context) (err error) {
			b.throughputs, err = b.target.MeasureCallers(ctx)
			return err
		}},
		parts.Part{What: "memory of idle pools", Measure: b.measurePools},
		parts.Part{What: "memory of a wrapper server", Measure: b.measureWrapper}, // The wrapper server's pods were idle during the previous part.
		parts.Part{What: "calls that fail", Measure: b.measureDisruptions},
		parts.Part{What: "cold calls and pods, init container", Measure: func(ctx context.Context) error { return b.measureStarts(ctx, initContainer, 1.1) }},
		parts.Part{What: "cold calls and pods, image volume", Measure: func(ctx context.Context) error { return b.measureStarts(ctx, imageVolume, .65) }},
		parts.Part{What: "many pods at once", Measure: b.measureScaleUp},
		parts.Part{What: "memory of warm pods", Measure: b.measureWarmPods},
	)
	return errors.Join(err, b.write())
}

// apply installs the function runner with one replica, which is the harder case in a rollout, and with debug logs disabled.
func (b *bench) apply(ctx context.Context, injection string, pods map[string]any) error {
	return b.Apply(ctx, install.MergeValues(map[string]any{
		"logLevel": 2, "pods": map[string]any{"wrapperInjection": injection}, "extraArgs": []any{"--disable-runtimes=exec", function.CacheFlag},
	}, map[string]any{"pods": pods}))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
