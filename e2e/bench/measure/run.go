// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package measure has the parts that benchmarks share: the main program, which waits for a quiet machine, measures parts and writes the
// report; comparisons of variants, whose rounds are interleaved; and the measurements of calls of an evaluator.
package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

// Run is a run of a benchmark. Its exported fields other than the report are flags.
type Run struct {
	report.Report
	// Bin is the directory of the programs under test.
	Bin string
	// Rounds is the number of rounds, and Turn is the time of a variant in a round. Some measurements take a multiple of it.
	Rounds int
	Turn   time.Duration

	// quietLoad is the load average below which the machine is quiet, and patience is the maximum time to wait for it.
	quietLoad float64
	patience  time.Duration
	step      func(what string, do func() error) error
}

// Main parses the flags, measures, and exits with 1 after an error. A run that fails writes no report.
func Main(parent context.Context, title string, measure func(context.Context, *Run) error) {
	r := Run{Report: report.Report{Title: title}, step: progress.New(os.Stdout).Step}
	var out, commit string
	pflag.StringVar(&r.Bin, "bin", "bin", "`directory` of the binaries")
	pflag.StringVar(&out, "out", "report.json", "`file` to write the report to")
	pflag.StringVar(&commit, "commit", "unknown", "`commit` that the binaries were built from, for the report")
	pflag.IntVar(&r.Rounds, "rounds", 5, "number of rounds")
	pflag.DurationVar(&r.Turn, "turn", time.Second, "time of each variant in a round; measurements at a constant rate and of large lists take a multiple")
	pflag.Float64Var(&r.quietLoad, "quiet-load", .4*float64(runtime.NumCPU()), "load average below which to start")
	pflag.DurationVar(&r.patience, "quiet-wait", 5*time.Minute, "how long to wait for such a load; after that the report says that the machine was not quiet")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(parent, syscall.SIGTERM, os.Interrupt)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	machine, err := report.Machine()
	r.Facts = append([]report.Fact{{Name: "date", Value: time.Now().UTC().Format(time.DateOnly)}, {Name: "commit", Value: commit}}, machine...)
	if err == nil {
		err = errors.Join(measure(ctx, &r), r.WriteText(os.Stdout))
	}
	if err == nil {
		err = r.Write(out)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// AwaitQuiet waits for a quiet machine, and records the load average. Call it before the first part, after all preparations.
func (r *Run) AwaitQuiet(ctx context.Context) error {
	return r.step(fmt.Sprintf("wait until the load average is below %.2f", r.quietLoad), func() error {
		quiet, err := report.AwaitQuiet(ctx, r.quietLoad, r.patience, report.Load)
		r.Facts = append(r.Facts, quiet.Fact(), report.Fact{Name: "rounds", Value: strconv.Itoa(r.Rounds)})
		return err
	})
}

// Part runs a part and records its load average and duration.
func (r *Run) Part(ctx context.Context, name string, measure func(context.Context) error) error {
	load, err := report.Load()
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := r.step("measure "+name, func() error { return measure(ctx) }); err != nil {
		return fmt.Errorf("measure %s: %w", name, err)
	}
	r.Parts = append(r.Parts, report.Part{Name: name, Load: load, Seconds: time.Since(begin).Round(time.Second).Seconds()})
	return nil
}
