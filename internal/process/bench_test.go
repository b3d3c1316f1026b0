// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// asFunction is an environment variable that makes the test binary act as a function written in Go.
const asFunction = "KRMFN_TEST_FUNCTION"

func copyInput() {
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// BenchmarkRun alternates between calls through a Runner and bare processes, and reports ratios of their latencies (p50/bare and
// p99/bare). The command is the test binary, or the program in KRMFN_BENCH_COMMAND.
func BenchmarkRun(b *testing.B) {
	in := bytes.Repeat([]byte("a line of input\n"), 200)
	command := Command{Argv: []string{os.Getenv("KRMFN_BENCH_COMMAND")}, Env: []string{asFunction + "=1"}}
	if file := os.Getenv("KRMFN_BENCH_INPUT"); file != "" {
		in, _ = os.ReadFile(file)
	}
	if command.Argv[0] == "" {
		command.Argv[0] = os.Args[0]
	}
	bare := func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, command.Argv[0])
		cmd.Env, cmd.Stdin, cmd.Stdout = command.Env, bytes.NewReader(in), new(bytes.Buffer)
		return cmd.Run()
	}
	for _, bb := range []struct {
		name    string
		standby int
		pause   time.Duration
	}{
		{"fresh, one caller", 0, 0},
		{"fresh, 40 calls a second", 0, 25 * time.Millisecond},
		{"standby, one caller", 1, 0},
		{"standby, 40 calls a second", 1, 25 * time.Millisecond},
	} {
		b.Run(bb.name, func(b *testing.B) {
			r := NewRunner(Options{ScratchRoot: b.TempDir(), Standby: Standby{Processes: bb.standby}})
			defer r.Close()
			const round = 20
			var bares, runs []time.Duration
			for b.Loop() {
				bares = append(bares, measure(b, round, bb.pause, bare)...)
				runs = append(runs, measure(b, round, bb.pause, func(ctx context.Context) error {
					_, err := r.Run(ctx, command, in)
					return err
				})...)
			}
			slices.Sort(bares)
			slices.Sort(runs)
			b.ReportMetric(float64(runs[len(runs)/2])/float64(bares[len(bares)/2]), "p50/bare")
			b.ReportMetric(float64(runs[len(runs)*99/100])/float64(bares[len(bares)*99/100]), "p99/bare")
			b.ReportMetric(float64(bares[len(bares)/2])/1e6, "bare-ms")
		})
	}
}

// measure calls call n times with a pause between calls and returns the latencies.
func measure(b *testing.B, n int, pause time.Duration, call func(ctx context.Context) error) []time.Duration {
	b.Helper()
	latencies := make([]time.Duration, n)
	for i := range latencies {
		begin := time.Now()
		if err := call(b.Context()); err != nil {
			b.Fatal(err)
		}
		latencies[i] = time.Since(begin)
		time.Sleep(pause - latencies[i])
	}
	return latencies
}
