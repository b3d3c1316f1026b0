// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/load"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

// image returns the image reference that callers use for a kind.
func image(k *function.Kind) string { return k.ID() + ":v1" }

// runner is a function runner that executes the function as an executable, with one entry for each kind.
type runner struct {
	// dir is the directory of executables, named by function. They are links to executable.
	dir, executable string

	process *server.Process
	conn    *grpc.ClientConn
	rpc     evaluatorgrpc.FunctionEvaluatorClient
}

// startRunner starts a function runner that keeps its files in dir, and checks that each kind works as configured.
func startRunner(ctx context.Context, bin, dir string) (*runner, error) {
	executable := filepath.Join(bin, binaries.FunctionsLight)
	var config strings.Builder
	config.WriteString("functions:\n")
	for _, k := range function.Kinds {
		fmt.Fprintf(&config, "- function: %s\n  images: [%s]\n  %s\n", function.Name, image(k), k.Entry)
	}
	file := filepath.Join(dir, "config.yaml")
	if err := errors.Join(os.Symlink(executable, filepath.Join(dir, function.Name)), os.WriteFile(file, []byte(config.String()), 0o600)); err != nil {
		return nil, err
	}
	process, err := server.Start(ctx, filepath.Join(bin, binaries.FunctionRunner), filepath.Join(dir, "log"),
		"--disable-runtimes=pod", "--strict-config", "--config="+file, "--functions="+dir, function.CacheFlag)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(process.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return nil, errors.Join(err, process.Stop())
	}
	r := &runner{dir, executable, process, conn, evaluatorgrpc.NewFunctionEvaluatorClient(conn)}
	if err := r.check(ctx); err != nil {
		return nil, errors.Join(err, r.stop())
	}
	return r, nil
}

// check returns an error unless a repeated call of the cached kind, and of no other kind, returns a cached result.
func (r *runner) check(ctx context.Context) error {
	client := evaluatorv1grpc.NewFunctionEvaluatorServiceClient(r.conn)
	for _, k := range slices.Concat(function.Kinds, function.Kinds) {
		resp, err := client.Evaluate(ctx, &evaluatorv1.EvaluateRequest{Image: image(k), ResourceList: function.List(1)})
		if err != nil {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
		if failure := resp.GetEvaluation().GetFailure(); failure != nil {
			return fmt.Errorf("%s: %s", k.Name, failure.GetMessage())
		}
		if cached := resp.GetEvaluation().GetCached(); cached && k != function.Cached {
			return fmt.Errorf("%s: the response is a cached result", k.Name)
		}
	}
	resp, err := client.Evaluate(ctx, &evaluatorv1.EvaluateRequest{Image: image(function.Cached), ResourceList: function.List(1)})
	if err == nil && !resp.GetEvaluation().GetCached() {
		return fmt.Errorf("%s: the response is not a cached result", function.Cached.Name)
	}
	return err
}

// call returns a call that sends a list to a kind over the RPC that Porch uses.
func (r *runner) call(k *function.Kind, list []byte) load.Call {
	return func(ctx context.Context) error {
		resp, err := r.rpc.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: image(k), ResourceList: list})
		if err != nil {
			return err
		}
		return function.Check(resp.GetResourceList())
	}
}

// bare returns a call that runs the function as a process.
func (r *runner) bare(list []byte) load.Call { return function.Bare(r.executable, list) }

func (r *runner) stop() error { return errors.Join(r.conn.Close(), r.process.Stop()) }
