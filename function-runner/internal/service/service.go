// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package service serves evaluators over gRPC, with Porch's service and with krmfn.evaluator.v1.
package service

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/porch"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Functions describes functions without evaluating them.
type Functions interface {
	// Prepare prepares an image for its next evaluation without waiting, and returns its state. It returns nil if no evaluator has the
	// image.
	Prepare(ctx context.Context, image string) *evaluatorv1.PreparedFunction
	// List returns the functions, sorted by name.
	List() []*evaluatorv1.Function
}

// Evaluator implements krmfn.evaluator.v1.FunctionEvaluatorService. The caller must have validated the requests.
type Evaluator struct {
	evaluatorv1grpc.UnimplementedFunctionEvaluatorServiceServer
	// Evaluator evaluates the functions.
	Evaluator evaluation.Evaluator
	// Functions describes and prepares the functions.
	Functions Functions
	// Budget limits the memory for the lists of all calls. Evaluator reserves it for streamed lists. The server has reserved it before
	// for unary calls.
	Budget *middleware.Budget
	// MaxListSize is the maximum size of a streamed ResourceList and of its output, in bytes.
	MaxListSize int64
	// MaxMessageSize is the maximum size of a message, in bytes.
	MaxMessageSize int
}

// Evaluate evaluates a function over a ResourceList.
func (e *Evaluator) Evaluate(ctx context.Context, req *evaluatorv1.EvaluateRequest) (*evaluatorv1.EvaluateResponse, error) {
	resp, err := e.Evaluator.Evaluate(ctx, evaluation.Request{Image: req.GetImage(), ResourceList: req.GetResourceList()})
	if err != nil {
		return nil, ErrorStatus(ctx, req.GetImage(), err)
	}
	return &evaluatorv1.EvaluateResponse{ResourceList: resp.ResourceList, Evaluation: resp.Report}, nil
}

// Prepare prepares images for their next evaluations.
func (e *Evaluator) Prepare(ctx context.Context, req *evaluatorv1.PrepareRequest) (*evaluatorv1.PrepareResponse, error) {
	resp := &evaluatorv1.PrepareResponse{}
	for _, image := range req.GetImages() {
		prepared := e.Functions.Prepare(ctx, image)
		if prepared == nil {
			prepared = &evaluatorv1.PreparedFunction{
				State:   evaluatorv1.PrepareState_PREPARE_STATE_NOT_FOUND,
				Message: (&evaluation.NotFoundError{Image: image}).Error(),
			}
		}
		prepared.Image = image
		resp.Functions = append(resp.Functions, prepared)
	}
	return resp, nil
}

// ListFunctions returns the known functions.
func (e *Evaluator) ListFunctions(context.Context, *evaluatorv1.ListFunctionsRequest) (*evaluatorv1.ListFunctionsResponse, error) {
	return &evaluatorv1.ListFunctionsResponse{Functions: e.Functions.List()}, nil
}

// FailureStatus returns the gRPC status for a failed function. For a function pod, the message wraps the wrapper server's status in the
// function runner's, for compatibility with Porch.
func FailureStatus(image string, report *evaluationv1.Evaluation) *status.Status {
	st := porch.FailureStatus(image, report)
	if report.GetEvaluator() != evaluationv1.Evaluator_EVALUATOR_POD {
		return st
	}
	wrapped := st.Proto()
	wrapped.Message = fmt.Sprintf("unable to evaluate %s with pod evaluator: rpc error: code = %s desc = %s", image, st.Code(), st.Message())
	return status.FromProto(wrapped)
}

// ErrorStatus returns the gRPC status error for an evaluator's error.
func ErrorStatus(_ context.Context, image string, err error) error {
	timedOut := func(c codes.Code) error {
		return status.Error(c, fmt.Sprintf("function evaluation timed out for %s: %v", image, err))
	}
	var start *evaluation.StartError
	switch {
	case errors.As(err, new(*evaluation.NotFoundError)):
		return status.Error(codes.NotFound, err.Error())
	case errors.As(err, new(*evaluation.BusyError)), errors.As(err, new(*evaluation.ExhaustedError)):
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

// ended reports whether an error means that the call's deadline was exceeded or that the caller has left.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*evaluation.TimeoutError))
}
