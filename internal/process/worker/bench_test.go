// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/krmfn/krmfn/internal/process"
)

// BenchmarkRun alternates between calls that workers answer and bare processes. It reports the ratio of median latencies for one caller
// (p50/bare), and the ratio of throughputs for 8 callers (rate/bare). The command is the test binary, or the program in
// KRMFN_BENCH_COMMAND.
func BenchmarkRun(b *testing.B) {
	in := bytes.Repeat([]byte("a line of input\n"), 200)
	command := process.Command{Argv: []string{os.Args[0]}, Env: []string{"FUNCTION=good"}, Worker: true}
	if program := os.Getenv("KRMFN_BENCH_COMMAND"); program != "" {
		command.Argv[0] = program
		in, _ = os.ReadFile(os.Getenv("KRMFN_BENCH_INPUT"))
	}
	bare := func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, command.Argv[0])
		cmd.Env, cmd.Stdin, cmd.Stdout = command.Env, bytes.NewReader(in), new(bytes.Buffer)
		return cmd.Run()
	}
	runner := process.NewRunner(process.Options{ScratchRoot: b.TempDir()})
	defer runner.Close()
	pool := NewPool(runner, Options{PerCommand: process.Processors(), Total: process.Processors(), Log: slog.New(slog.DiscardHandler)})
	defer pool.Close()
	byWorker := func(ctx context.Context) error {
		_, err := pool.Run(ctx, command, in)
		return err
	}
	for pool.Stats().Calls == 0 {
		measure(b, 1, 1, byWorker)
	}
	b.Run("one caller", func(b *testing.B) {
		var bares, runs []time.Duration
		for b.Loop() {
			bares = append(bares, measure(b, 1, 20, bare)...)
			runs = append(runs, measure(b, 1, 20, byWorker)...)
		}
		slices.Sort(bares)
		slices.Sort(runs)
		b.ReportMetric(float64(runs[len(runs)/2])/float64(bares[len(bares)/2]), "p50/bare")
		b.ReportMetric(float64(bares[len(bares)/2])/1e6, "bare-ms")
	})
	b.Run("8 callers", func(b *testing.B) {
		var bares, runs time.Duration
		for b.Loop() {
			begin := time.Now()
			measure(b, 8, 5, bare)
			middle := time.Now()
			measure(b, 8, 5, byWorker)
			bares, runs = bares+middle.Sub(begin), runs+time.Since(middle)
		}
		b.ReportMetric(float64(bares)/float64(runs), "rate/bare")
	})
}

// measure makes a number of calls from each of several concurrent callers, and returns the latencies.
func measure(b *testing.B, callers, each int, call func(ctx context.Context) error) (latencies []time.Duration) {
	b.Helper()
	var mu sync.Mutex
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			for range each {
				begin := time.Now()
				if err := call(b.Context()); err != nil {
					b.Error(err)
				}
				mu.Lock()
				latencies = append(latencies, time.Since(begin))
				mu.Unlock()
			}
		})
	}
	calling.Wait()
	return latencies
}
