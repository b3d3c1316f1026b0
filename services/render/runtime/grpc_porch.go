// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/resourcelist"
)

// evaluatePorch speaks the contract that Porch's own runner serves, too. That runner says of a failed function only the
// code Internal and a text, and does not check outputs.
func (g *GRPC) evaluatePorch(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	resp, err := g.porch.EvaluateFunction(ctx,
		&evaluator.EvaluateFunctionRequest{Image: req.Image, ResourceList: req.ResourceList}, g.callOptions()...)
	if report := reportOf(err); report != nil {
		return evaluation.Response{Report: report}, nil
	}
	report := &evaluationv1.Evaluation{Image: req.Image, Stderr: resp.GetLog()}
	if status.Code(err) == codes.Internal {
		report.ExitCode = 1
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_UNSPECIFIED, status.Convert(err).Message()), nil
	}
	if err != nil {
		return evaluation.Response{}, err
	}
	if report.Results, err = resourcelist.Results(resp.GetResourceList()); err != nil {
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID, err.Error()), nil
	}
	return evaluation.Response{ResourceList: resp.GetResourceList(), Report: report}, nil
}

// answer makes a response of what krmfn.evaluator.v1 returns, and an error of what it never should.
func answer(list []byte, report *evaluationv1.Evaluation) (evaluation.Response, error) {
	switch {
	case report == nil:
		return evaluation.Response{}, errors.New("the runner answered without an evaluation")
	case report.GetFailure() != nil:
		return evaluation.Response{Report: report}, nil
	case len(list) == 0:
		return evaluation.Response{}, errors.New("the runner answered without a ResourceList")
	}
	return evaluation.Response{ResourceList: list, Report: report}, nil
}
