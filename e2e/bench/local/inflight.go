// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

// measureRunnerMemory measures the memory that a function runner holds per byte of the requests in flight, beyond its idle memory. Each
// round has another number of callers. The garbage collector runs all the time, so that the result excludes garbage of earlier calls.
func measureRunnerMemory(ctx context.Context, r *measure.Run, dir string) error {
	config := filepath.Join(dir, "cat.yaml")
	err := errors.Join(os.Symlink("/bin/cat", filepath.Join(dir, "cat")), os.WriteFile(config, []byte("functions:\n- function: cat\n  images: [cat:v1]\n"), 0o600))
	if err != nil {
		return err
	}
	var held []float64
	for _, callers := range []int{1, 4, 8} {
		perByte, err := heldPerByte(ctx, r, dir, config, callers)
		if err != nil {
			return fmt.Errorf("%d calls in flight: %w", callers, err)
		}
		held = append(held, perByte)
	}
	r.Add(report.Samples("function runner, memory per byte in flight", "bytes", held...))
	return nil
}

// heldPerByte returns the peak memory per byte of requests of 6 MiB from concurrent callers.
func heldPerByte(ctx context.Context, r *measure.Run, dir, config string, callers int) (perByte float64, err error) {
	runner, err := server.StartWith(ctx, []string{"GOMEMLIMIT=1MiB"}, filepath.Join(r.Bin, binaries.FunctionRunner), filepath.Join(dir, "cat.log"),
		"--disable-runtimes=pod", "--config="+config, "--functions="+dir, "--max-bytes-in-flight=1000000000", "--max-concurrent-evaluations=100")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, runner.Stop()) }()
	conn, err := grpc.NewClient(runner.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64*mib)))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	client, list := evaluatorgrpc.NewFunctionEvaluatorClient(conn), deployments(6*mib-1000, function.Memory[0].Config)
	idle, err := residentPeak(runner.PID())
	if err != nil {
		return 0, err
	}
	var calls sync.WaitGroup
	errs := make([]error, callers+1)
	for i := range callers {
		calls.Go(func() {
			for range 5 {
				_, err := client.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: "cat:v1", ResourceList: list})
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	calls.Wait()
	peak, err := residentPeak(runner.PID())
	errs[callers] = err
	return (peak - idle) / float64(callers*len(list)), errors.Join(errs...)
}

// residentPeak returns the peak resident set of a process in bytes.
func residentPeak(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return measure.MemoryIn(string(status), "VmHWM")
}
