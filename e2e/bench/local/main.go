// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command local measures calls of executables, renders and memory on this machine. It needs no cluster.
package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/krmfn/krmfn/e2e/bench/measure"
)

func main() { measure.Main(context.Background(), "Calls of executables, renders and memory", run) }

func run(ctx context.Context, r *measure.Run) (err error) {
	dir, err := os.MkdirTemp("", "krmfn-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if r.Bin, err = filepath.Abs(r.Bin); err != nil {
		return err
	}
	if err := r.AwaitQuiet(ctx); err != nil {
		return err
	}
	if err := measureCalls(ctx, r, dir); err != nil {
		return err
	}
	renders := renders{Run: r, dir: filepath.Join(dir, "packages")}
	if err := r.Part(ctx, "renders", renders.measure); err != nil {
		return err
	}
	return r.Part(ctx, "memory", func(ctx context.Context) error {
		return errors.Join(measureProcessMemory(ctx, r), measureRunnerMemory(ctx, r, dir))
	})
}

func measureCalls(ctx context.Context, r *measure.Run, dir string) (err error) {
	runner, err := startRunner(context.WithoutCancel(ctx), r.Bin, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.stop()) }()
	return measure.Target{Run: r, Evaluator: "executable", Bare: runner.bare, Call: runner.call}.Measure(ctx)
}
