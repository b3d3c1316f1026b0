// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/krmfn/krmfn/functions/plain"
	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/runtime"
	"github.com/krmfn/krmfn/task-handler/internal/multicall"
)

const (
	// maxDescribeTime limits how long the functions executable may take to list its functions.
	maxDescribeTime = 30 * time.Second
	// processesPerProcessor is the number of function processes that run at once for each processor.
	processesPerProcessor = 2
)

// newProgram returns the runtime of the curated functions that run in processes, which has memory bytes for them. It is nil, and the log says
// so, if the executable is missing.
func (h *handler) newProgram(ctx context.Context, builtin runtime.Builtin, memory int64) (*multicall.Program, error) {
	path, o := h.config.Functions, h.config.Options
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		h.config.Log.Warn("the executable of curated functions is missing: functions that need a process of their own are left to the function runner, if there is one",
			"path", path, "function_runner", o.FunctionRunner)
		return nil, nil //nolint:nilnil // there is no such runtime
	}
	standby, left := process.StandbyShare(memory)
	atOnce := processesPerProcessor * process.Processors()
	h.processes = process.NewRunner(process.Options{
		Limits:  process.Limits{Stdout: o.Limits.MaxListSize},
		Standby: process.Standby{Processes: min(1, standby), Total: standby, Log: h.config.Log},
	})
	ctx, cancel := context.WithTimeout(ctx, maxDescribeTime)
	defer cancel()
	described, err := multicall.Describe(ctx, h.processes, path)
	if err != nil {
		return nil, err
	}
	builtin.Functions = slices.DeleteFunc(described, func(f function.Function) bool {
		_, isPlain := plain.Functions().Lookup(f.Name)
		return isPlain
	})
	h.curated = append(h.curated, builtin.Functions...)
	return &multicall.Program{
		Path: path, Builtin: builtin, Runner: h.processes,
		// Renders wait here and do not fail: their number is bounded.
		Gate:   middleware.NewGate(atOnce, o.Limits.MaxConcurrent*o.Limits.MaxParallelPackages),
		Memory: process.NewMemory(left, atOnce),
	}, nil
}

// incomplete are runtimes without the executable of functions. Its errors say what is missing.
type incomplete struct {
	runtime.Multi
	path, prefix string
}

func (i incomplete) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	resp, err := i.Multi.Evaluate(ctx, req)
	if errors.As(err, new(*evaluation.NotFoundError)) && reference.CatalogName(req.Image, i.prefix) != "" {
		err = fmt.Errorf("%w: the executable of curated functions %s is missing, and no function runner has it", err, i.path)
	}
	return resp, err
}
