// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures evaluations beside the physical limit: the same function run as a bare process, in the same run.
package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

// setup builds the commands and starts a function runner that evaluates set-labels.
func setup(b *testing.B) (bare, viaRunner func() error) {
	b.Helper()
	dir := b.TempDir()
	// The runner is to outlive the benchmark until it is stopped in order.
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	if err := binaries.Build(ctx, dir, binaries.FunctionRunner, binaries.FunctionsLight); err != nil {
		b.Fatal(err)
	}
	function := filepath.Join(dir, "set-labels")
	if err := os.Symlink(binaries.FunctionsLight, function); err != nil {
		b.Fatal(err)
	}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("functions:\n- function: set-labels\n  images: [set-labels:v1]\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	runner, err := server.Start(ctx, filepath.Join(dir, binaries.FunctionRunner), filepath.Join(dir, "log"),
		"--disable-runtimes=pod", "--strict-config", "--config="+config, "--functions="+dir)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := grpc.NewClient(runner.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = conn.Close()
		if err := runner.Stop(); err != nil {
			b.Error(err)
		}
		cancel()
	})
	client := evaluatorgrpc.NewFunctionEvaluatorClient(conn)
	input := resourceList(10)
	bare = func() error {
		cmd := exec.CommandContext(ctx, function)
		cmd.Stdin = bytes.NewReader(input)
		_, err := cmd.Output()
		return err
	}
	viaRunner = func() error {
		_, err := client.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: "set-labels:v1", ResourceList: input})
		return err
	}
	return bare, viaRunner
}

func resourceList(n int) []byte {
	var list bytes.Buffer
	list.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for i := range n {
		fmt.Fprintf(&list, "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: cm-%d\n    labels:\n      tier: backend\n  data:\n    key: value\n", i)
	}
	list.WriteString("functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: function-input\n  data:\n    team: platform\n")
	return list.Bytes()
}

// BenchmarkLatency alternates bare processes and calls through the runner, one at a time, and reports the medians and what
// the runner adds.
func BenchmarkLatency(b *testing.B) {
	bare, viaRunner := setup(b)
	var times [2][]time.Duration
	for b.Loop() {
		for i, call := range []func() error{bare, viaRunner} {
			begin := time.Now()
			if err := call(); err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], time.Since(begin))
		}
	}
	for i, name := range []string{"bare", "runner"} {
		slices.Sort(times[i])
		b.ReportMetric(milliseconds(quantile(times[i], .5)), name+"-p50-ms")
		b.ReportMetric(milliseconds(quantile(times[i], .99)), name+"-p99-ms")
	}
	b.ReportMetric(milliseconds(quantile(times[1], .5)-quantile(times[0], .5)), "added-p50-ms")
}

// BenchmarkThroughput runs as many calls at once as there are processors, and more, in turns of bare processes and calls
// through the runner, and reports the share of the bare processes' throughput that the runner reaches.
func BenchmarkThroughput(b *testing.B) {
	bare, viaRunner := setup(b)
	for _, callers := range []int{2, 8, 20} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			var rates [2][]float64
			for b.Loop() {
				for i, call := range []func() error{bare, viaRunner} {
					rates[i] = append(rates[i], rate(b, callers, call))
				}
			}
			for i := range rates {
				slices.Sort(rates[i])
			}
			bareRate, runnerRate := rates[0][len(rates[0])/2], rates[1][len(rates[1])/2]
			b.ReportMetric(bareRate, "bare-calls/s")
			b.ReportMetric(runnerRate, "runner-calls/s")
			b.ReportMetric(100*runnerRate/bareRate, "%-of-bare")
		})
	}
}

// rate returns how many calls a second so many callers get done, over a short turn.
func rate(b *testing.B, callers int, call func() error) float64 {
	b.Helper()
	const turn = 200 * time.Millisecond
	var done atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for range callers {
		all.Go(func() {
			for time.Since(begin) < turn {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / time.Since(begin).Seconds()
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
