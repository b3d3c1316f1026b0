// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/wrapperapi"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// functionService implements the service for this project's function runner.
type functionService struct {
	wrapperv1grpc.UnimplementedFunctionServiceServer
	evaluator evaluation.Evaluator
}

func (s *functionService) Evaluate(ctx context.Context, req *wrapperv1.EvaluateRequest) (*wrapperv1.EvaluateResponse, error) {
	resp, err := s.evaluator.Evaluate(ctx, evaluation.Request{Image: req.GetImage(), ResourceList: req.GetResourceList()})
	if err != nil {
		return nil, errorStatus(ctx, req.GetImage(), err)
	}
	return &wrapperv1.EvaluateResponse{ResourceList: resp.ResourceList, Evaluation: resp.Report}, nil
}

// errorStatus returns the status for an error of the evaluator. If the call was rejected before anything ran, it sets the trailer by
// which callers know that they may send the call to another pod.
func errorStatus(ctx context.Context, _ string, err error) error {
	var refusal metadata.MD
	switch {
	case errors.Is(err, errDraining):
		refusal = wrapperapi.Refusal()
	case errors.As(err, new(*evaluation.BusyError)):
		refusal = wrapperapi.NoRoom()
	default:
		return status.FromContextError(err).Err()
	}
	// SetTrailer fails only outside of a call.
	_ = grpc.SetTrailer(ctx, refusal)
	return status.Error(codes.Unavailable, err.Error())
}
