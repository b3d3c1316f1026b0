// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/krmfn/krmfn/internal/resourcelist"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Processes runs commands. A Runner implements it. It returns the errors of Runner.Run.
type Processes interface {
	Run(ctx context.Context, c Command, stdin []byte) (Outcome, error)
}

// Function is an evaluation.Evaluator that runs a program once for each request, whatever image the request names.
type Function struct {
	Runner Processes
	// Command is the program to run.
	Command Command
	// Evaluator and Implementation are copied to the reports.
	Evaluator      evaluationv1.Evaluator
	Implementation string
	// Silence replaces an empty output if the program exits with code 0. If it is nil, an empty output is a failure.
	Silence []byte
}

// Evaluate passes the request's ResourceList to the program. It checks that the output is a ResourceList and reads its results, even if
// the program failed. The error is always nil; failures are in the report.
func (f *Function) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	command := f.Command
	command.MaxStdout = req.MaxOutput
	outcome, err := f.Runner.Run(ctx, command, req.ResourceList)
	report := &evaluationv1.Evaluation{
		Image:              req.Image,
		Evaluator:          f.Evaluator,
		Implementation:     f.Implementation,
		ExitCode:           int32(outcome.ExitCode), //nolint:gosec // exit codes are -1 to 255
		Stderr:             outcome.Stderr,
		StderrDroppedBytes: outcome.StderrDropped,
		Timings: &evaluationv1.Timings{
			Start: durationpb.New(outcome.Start), Execute: durationpb.New(outcome.Execute),
		},
	}
	if err != nil {
		return evaluation.Failed(report, runFailure(ctx, err), err.Error()), nil
	}
	if f.Silence != nil && outcome.ExitCode == 0 && outcome.Signal == 0 && len(bytes.TrimSpace(outcome.Stdout)) == 0 {
		outcome.Stdout = f.Silence
	}
	results, err := resourcelist.Results(outcome.Stdout)
	report.Results = results
	switch {
	case outcome.Signal != 0:
		message := fmt.Sprintf("signal: %v", outcome.Signal)
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_SIGNAL, message), nil
	case outcome.ExitCode != 0:
		message := fmt.Sprintf("exit status %d", outcome.ExitCode)
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, message), nil
	case err != nil:
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID, err.Error()), nil
	}
	return evaluation.Response{ResourceList: outcome.Stdout, Report: report}, nil
}

// runFailure returns the failure reason for an error of Runner.Run.
func runFailure(ctx context.Context, err error) evaluationv1.FailureReason {
	switch {
	case errors.As(err, new(*StartError)):
		return evaluationv1.FailureReason_FAILURE_REASON_START
	case errors.As(err, new(*OutputTooLargeError)):
		return evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_TOO_LARGE
	case errors.Is(ctx.Err(), context.Canceled):
		return evaluationv1.FailureReason_FAILURE_REASON_CANCELED
	default:
		return evaluationv1.FailureReason_FAILURE_REASON_DEADLINE
	}
}
