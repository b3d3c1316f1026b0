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

// newProgram returns the runtime for curated functions that run in processes, with a memory limit in bytes for all processes. If the
// executable is missing, it logs a warning and returns nil.
func (h *handler) newProgram(ctx context.Context, builtin runtime.Builtin, memory int64) (*multicall.Program, error) {
	path, o := h.config.Functions, h.config.Options
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		h.config.Log.Warn("the executable of curated functions is missing, so the function runner must evaluate the functions that run in processes",
			"path", path, "function_runner", o.FunctionRunner)
		return nil, nil //nolint:nilnil // nil means no such functions
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
		// The queue is long enough for all functions of all renders.
		Gate:   middleware.NewGate(atOnce, o.Limits.MaxConcurrent*o.Limits.MaxParallelPackages),
		Memory: process.NewMemory(left, atOnce),
	}, nil
}

// withoutProgram are the runtimes if the executable of curated functions is missing. Errors about curated functions mention it.
type withoutProgram struct {
	runtime.Multi
	path, prefix string
}

func (w withoutProgram) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	resp, err := w.Multi.Evaluate(ctx, req)
	if errors.As(err, new(*evaluation.NotFoundError)) && reference.CatalogName(req.Image, w.prefix) != "" {
		err = fmt.Errorf("%w: the executable of curated functions %s is missing, and no function runner has it", err, w.path)
	}
	return resp, err
}
