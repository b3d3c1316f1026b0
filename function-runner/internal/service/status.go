// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package service serves evaluators over gRPC: on the contract that Porch speaks, and on krmfn.evaluator.v1.
package service

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/porch"
	"github.com/krmfn/krmfn/services/images/policy"
)

// FailureStatus returns the status for a function that has failed. The failure of a function pod has the wrapper server's words
// inside the function runner's, as in Porch.
func FailureStatus(image string, report *evaluationv1.Evaluation) *status.Status {
	st := porch.FailureStatus(image, report)
	if report.GetEvaluator() != evaluationv1.Evaluator_EVALUATOR_POD {
		return st
	}
	wrapped := st.Proto()
	wrapped.Message = fmt.Sprintf("unable to evaluate %s with pod evaluator: rpc error: code = %s desc = %s", image, st.Code(), st.Message())
	return status.FromProto(wrapped)
}

// ErrorStatus returns the status error for an error of an evaluator.
func ErrorStatus(_ context.Context, image string, err error) error {
	timedOut := func(c codes.Code) error {
		return status.Error(c, fmt.Sprintf("function evaluation timed out for %s: %v", image, err))
	}
	var start *evaluation.StartError
	switch {
	case errors.As(err, new(*evaluation.NotFoundError)):
		return status.Error(codes.NotFound, err.Error())
	case errors.As(err, new(*evaluation.BusyError)):
		return status.Error(codes.ResourceExhausted, fmt.Sprintf("function %q is not evaluated: %v", image, err))
	case errors.As(err, &start) && errors.As(err, new(*policy.RefusedError)):
		return status.Error(codes.PermissionDenied, start.Error())
	case errors.As(err, &start) && !ended(err):
		return status.Error(codes.Unknown, start.Error())
	case errors.Is(err, context.Canceled):
		return timedOut(codes.Canceled)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, new(*evaluation.TimeoutError)):
		return timedOut(codes.DeadlineExceeded)
	}
	return status.Error(status.Code(err), fmt.Sprintf("function %q is not evaluated: %v", image, err))
}

// ended tells whether an error is that the caller's time is over, or the caller gone.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*evaluation.TimeoutError))
}
