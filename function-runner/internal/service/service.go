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

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/porch"
	"github.com/krmfn/krmfn/services/images/policy"
)

// Functions tells what is known about functions without evaluating them.
type Functions interface {
	// Prepare makes an image ready, as far as that takes no waiting, and says how far it is.
	Prepare(ctx context.Context, image string) *evaluatorv1.PreparedFunction
	// List lists the functions by name.
	List() []*evaluatorv1.Function
}

// Evaluator serves krmfn.evaluator.v1.FunctionEvaluatorService. Requests are expected to be validated.
type Evaluator struct {
	evaluatorv1grpc.UnimplementedFunctionEvaluatorServiceServer
	// Evaluator evaluates.
	Evaluator evaluation.Evaluator
	// Functions describes.
	Functions Functions
	// Budget is shared by the lists of all calls. Those of streamed ones take their parts here; others have theirs by then.
	Budget *evaluation.Budget
	// MaxListSize is the most bytes of a streamed ResourceList, and of the output of one.
	MaxListSize int64
	// MaxMessageSize is the most bytes of one message.
	MaxMessageSize int
}

// Evaluate evaluates a function.
func (e *Evaluator) Evaluate(ctx context.Context, req *evaluatorv1.EvaluateRequest) (*evaluatorv1.EvaluateResponse, error) {
	resp, err := e.Evaluator.Evaluate(ctx, evaluation.Request{Image: req.GetImage(), ResourceList: req.GetResourceList()})
	if err != nil {
		return nil, ErrorStatus(ctx, req.GetImage(), err)
	}
	return &evaluatorv1.EvaluateResponse{ResourceList: resp.ResourceList, Evaluation: resp.Report}, nil
}

// Prepare makes images ready.
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

// ListFunctions lists the functions that are known.
func (e *Evaluator) ListFunctions(context.Context, *evaluatorv1.ListFunctionsRequest) (*evaluatorv1.ListFunctionsResponse, error) {
	return &evaluatorv1.ListFunctionsResponse{Functions: e.Functions.List()}, nil
}

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

// ended tells whether an error is that the caller's time is over, or the caller gone.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*evaluation.TimeoutError))
}
