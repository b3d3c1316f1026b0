// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package multicall runs the functions of a multi-call executable, such as krmfn's "functions", each call in a process of its own.
package multicall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/process"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// Program evaluates the functions of a multi-call executable. It finds functions like [runtime.Builtin]. A process that runs out of
// memory or is killed fails only its call.
//
// Safe for concurrent use.
type Program struct {
	// Path is the executable. Its argument is the function's name.
	Path string
	// Builtin has the executable's functions, as returned by Describe, and the rules for finding them.
	Builtin runtime.Builtin
	// Runner runs the processes.
	Runner *process.Runner
	// Gate limits the number of concurrent processes. Memory must be sized for that number.
	Gate   *middleware.Gate
	Memory process.Memory
}

// Describe asks an executable for its functions. The returned functions have no Process.
func Describe(ctx context.Context, runner *process.Runner, path string) (function.Set, error) {
	outcome, err := runner.Run(ctx, process.Command{Argv: []string{path, "describe"}, NoStandby: true}, nil)
	if err == nil && outcome.ExitCode != 0 {
		why, _, _ := strings.Cut(string(outcome.Stderr), "\n")
		err = fmt.Errorf("exit code %d: %s", outcome.ExitCode, why)
	}
	var set function.Set
	if err == nil {
		err = json.Unmarshal(outcome.Stdout, &set)
	}
	if err != nil {
		return nil, fmt.Errorf("list the functions of %s, which must be krmfn's executable functions of the same release: %w", path, err)
	}
	return set, nil
}

// Evaluate runs a function in a process. The error is a *evaluation.NotFoundError, a *evaluation.BusyError, a
// *evaluation.ExhaustedError, or the context's cause.
func (p *Program) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	f, err := p.Builtin.Lookup(req.Image)
	if err != nil {
		return evaluation.Response{}, err
	}
	running := p.Memory.Limit(process.Function{
		Runner:         p.Runner,
		Command:        p.command(f),
		Evaluator:      evaluationv1.Evaluator_EVALUATOR_BUILTIN,
		Implementation: strings.TrimSpace(f.Implementation() + " " + p.Builtin.Origin),
	})
	resp, err := p.Gate.Limit(running).Evaluate(ctx, req)
	if ctx.Err() != nil {
		return evaluation.Response{}, context.Cause(ctx)
	}
	if err != nil {
		return evaluation.Response{}, err
	}
	resp.Report.Warning = reference.Substitution(req.Image, f.Version)
	reportAsBuiltin(resp.Report)
	return resp, nil
}

func (p *Program) command(f function.Function) process.Command {
	return process.Command{Argv: []string{p.Path, f.Name}}
}

// reportAsBuiltin changes a process's report to what runtime.Builtin would report: the failure's message is the reason, and standard
// error is empty. It leaves the report unchanged if the process did not end by reporting a failure, for example if it crashed.
func reportAsBuiltin(report *evaluationv1.Evaluation) {
	failure := report.GetFailure()
	if failure != nil {
		err := function.ReportedFailure(report.GetStderr())
		if failure.GetReason() != evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE || err == nil {
			return
		}
		failure.Message = err.Error()
		if errors.As(err, new(*function.PanicError)) {
			failure.Reason = evaluationv1.FailureReason_FAILURE_REASON_PANIC
		}
	}
	report.Stderr, report.StderrDroppedBytes = nil, 0
}

// Prepare reports which images are functions, like runtime.Builtin, and starts a standby process for each.
func (p *Program) Prepare(ctx context.Context, images []string) ([]*evaluatorv1.PreparedFunction, error) {
	for _, image := range images {
		if f, err := p.Builtin.Lookup(image); err == nil {
			p.Runner.Prepare(p.Memory.Prepared(p.command(f)))
		}
	}
	return p.Builtin.Prepare(ctx, images)
}
