// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command cluster measures the function runner in the cluster for end-to-end tests, beside the physical limits: the same
// function as a bare process, and the same pod without a function runner. All is measured in one run, in turns, so that
// what else the machine does falls on both.
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
	pflag.IntVar(&o.rounds, "rounds", 3, "how many turns each load gets")
	pflag.DurationVar(&o.turn, "turn", 10*time.Second, "how long a turn is")
	pflag.IntVar(&o.starts, "starts", 10, "how many pods and cold calls of each kind are timed")
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

// bench is a run.
type bench struct {
	options
	*install.Installation
	progress *progress.Printer
	function *function
	report   report.Report
	// latencies and bars are for the plots.
	latencies []report.Latencies
	bars      []report.Starts
	// pod is a function pod as the function runner made it.
	pod *corev1.Pod
}

// run measures everything and writes the report.
func run(ctx context.Context, o options) (err error) {
	installation, err := install.Open(ctx, os.Stdout)
	if err != nil {
		return err
	}
	b := &bench{options: o, Installation: installation, progress: progress.New(os.Stdout)}
	if b.function, err = newFunction(o.bin, b.Registry); err != nil {
		return err
	}
	if err := b.describe(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Remove(context.WithoutCancel(ctx))) }()
	// What disturbs most comes last.
	for _, part := range []struct {
		what    string
		measure func(context.Context) error
	}{
		{"warm calls at constant rates", b.measureLatency},
		{"warm calls by so many callers", b.measureThroughput},
		{"memory of a wrapper server", b.measureWrapper},
		{"cold calls and pods, image volume", func(ctx context.Context) error { return b.measureStarts(ctx, imageVolume, .9) }},
		{"cold calls and pods, init container", func(ctx context.Context) error { return b.measureStarts(ctx, initContainer, 1.8) }},
		{"memory of idle pools", b.measurePools},
		{"calls that fail", b.measureDisruptions},
	} {
		if err := b.progress.Step("measure: "+part.what, func() error { return part.measure(ctx) }); err != nil {
			err = fmt.Errorf("measure %s: %w", part.what, err)
			b.note("This report is not complete: %v.", err)
			return errors.Join(err, b.write())
		}
	}
	return b.write()
}

// apply installs the function runner as the chart has it: one replica, which is the harder case in a rollout, and neither
// logs nor limits of its own.
func (b *bench) apply(ctx context.Context, injection string) error {
	return b.Apply(ctx, map[string]any{"logLevel": 2, "pods": map[string]any{"wrapperInjection": injection}})
}

func (b *bench) add(rows ...report.Row) { b.report.Rows = append(b.report.Rows, rows...) }

func (b *bench) note(format string, args ...any) {
	b.report.Notes = append(b.report.Notes, fmt.Sprintf(format, args...))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
