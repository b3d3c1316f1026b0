// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package porch serves evaluators with Porch's frozen contract, evaluator.FunctionEvaluator. Errors have the codes and texts of Porch's
// function runner, and contain the complete report as a status detail.
package porch

import (
	"context"

	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Server serves evaluator.FunctionEvaluator. All fields must be set.
type Server struct {
	evaluatorgrpc.UnimplementedFunctionEvaluatorServer
	Evaluator evaluation.Evaluator
	// Error returns the status error for an error of the evaluator. The function has not run.
	Error func(ctx context.Context, image string, err error) error
	// Failure returns the status for a function that failed, for example FailureStatus.
	Failure func(image string, report *evaluationv1.Evaluation) *status.Status
}

// EvaluateFunction evaluates a function.
func (s *Server) EvaluateFunction(ctx context.Context, req *evaluator.EvaluateFunctionRequest) (*evaluator.EvaluateFunctionResponse, error) {
	resp, err := s.Evaluator.Evaluate(ctx, evaluation.Request{Image: req.GetImage(), ResourceList: req.GetResourceList()})
	if err != nil {
		return nil, s.Error(ctx, req.GetImage(), err)
	}
	if resp.Report.GetFailure() != nil {
		return nil, s.Failure(req.GetImage(), resp.Report).Err()
	}
	return &evaluator.EvaluateFunctionResponse{ResourceList: resp.ResourceList, Log: resp.Report.GetStderr()}, nil
}
