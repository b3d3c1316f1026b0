// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
	"github.com/krmfn/krmfn/wrapper-server/internal/drain"
)

// porchService serves the frozen contract, so that a function runner of Porch's can use this server too.
type porchService struct {
	evaluatorgrpc.UnimplementedFunctionEvaluatorServer
	evaluator evaluation.Evaluator
}

func (s *porchService) EvaluateFunction(ctx context.Context, req *evaluator.EvaluateFunctionRequest) (*evaluator.EvaluateFunctionResponse, error) {
	resp, err := s.evaluator.Evaluate(ctx, evaluation.Request{Image: req.GetImage(), ResourceList: req.GetResourceList()})
	if err != nil {
		return nil, statusOf(ctx, err)
	}
	if resp.Report.GetFailure() != nil {
		return nil, evaluation.FailureStatus(req.GetImage(), resp.Report).Err()
	}
	return &evaluator.EvaluateFunctionResponse{ResourceList: resp.ResourceList, Log: resp.Report.GetStderr()}, nil
}

// functionService serves the function runner of this project.
type functionService struct {
	wrapperv1grpc.UnimplementedFunctionServiceServer
	evaluator evaluation.Evaluator
}

func (s *functionService) Evaluate(ctx context.Context, req *wrapperv1.EvaluateRequest) (*wrapperv1.EvaluateResponse, error) {
	resp, err := s.evaluator.Evaluate(ctx, evaluation.Request{Image: req.GetImage(), ResourceList: req.GetResourceList()})
	if err != nil {
		return nil, statusOf(ctx, err)
	}
	return &wrapperv1.EvaluateResponse{ResourceList: resp.ResourceList, Evaluation: resp.Report}, nil
}

// statusOf gives a call that was refused before anything ran the code and the trailer by which callers know that it may be
// sent to another pod.
func statusOf(ctx context.Context, err error) error {
	if errors.Is(err, drain.ErrDraining) || errors.As(err, new(*evaluation.BusyError)) {
		// It fails only outside of a call.
		_ = grpc.SetTrailer(ctx, wrapperapi.Refusal())
		return status.Error(codes.Unavailable, err.Error())
	}
	return status.FromContextError(err).Err()
}
