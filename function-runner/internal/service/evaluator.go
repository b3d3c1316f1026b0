// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
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
