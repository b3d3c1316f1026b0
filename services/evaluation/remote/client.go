// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package remote evaluates functions on a function runner: [Dial] connects to it, and a [Client] is an evaluation.Evaluator.
package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/resourcelist"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Limits are the limits for messages of a Client. Zero fields mean the defaults. They should equal the runner's limits.
type Limits struct {
	// MaxMessageSize is the maximum size of one message in bytes, in both directions. The default is 6 MiB, as in Porch.
	MaxMessageSize int
	// MaxListSize is the maximum size in bytes of a ResourceList that the runner streams back. The default is 64 MiB.
	MaxListSize int64
}

func (l Limits) complete() Limits {
	if l.MaxMessageSize <= 0 {
		l.MaxMessageSize = 6 << 20
	}
	if l.MaxListSize <= 0 {
		l.MaxListSize = 64 << 20
	}
	return l
}

// Client evaluates functions on a function runner. It uses krmfn.evaluator.v1. For addresses that do not support it, it falls
// back to Porch's evaluator contract, for one minute per address.
//
// Safe for concurrent use.
type Client struct {
	target    string
	limits    Limits
	v1        evaluatorv1grpc.FunctionEvaluatorServiceClient
	porch     evaluatorgrpc.FunctionEvaluatorClient
	contracts contracts
}

// New returns a client that uses conn, such as a connection from Dial. The caller must close conn.
func New(conn *grpc.ClientConn, limits Limits) *Client {
	limits = limits.complete()
	return &Client{
		target: conn.Target(),
		limits: limits,
		v1:     evaluatorv1grpc.NewFunctionEvaluatorServiceClient(conn),
		porch:  evaluatorgrpc.NewFunctionEvaluatorClient(conn),
	}
}

// Evaluate sends the request to the runner. The error is a *evaluation.NotFoundError, a *SizeError, the context's cause, or a
// gRPC status for a failure of the connection or the runner.
func (c *Client) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	// gRPC balances calls over the addresses. Try again until the call reaches an address that may support the contract.
	for range c.contracts.known() + 1 {
		if c.contracts.porchOnly() {
			break
		}
		var from peer.Peer
		resp, err := c.evaluateV1(ctx, req, &from)
		if !c.contracts.recordV1(&from, err) {
			return resp, c.explain(ctx, req, err)
		}
	}
	var from peer.Peer
	resp, err := c.evaluatePorch(ctx, req, grpc.Peer(&from))
	c.contracts.recordPorch(&from)
	return resp, c.explain(ctx, req, err)
}

// evaluateV1 streams a list if the list, with what a function may add to it, could exceed the limit of one message. It sets
// from to the peer that answered.
func (c *Client) evaluateV1(ctx context.Context, req evaluation.Request, from *peer.Peer) (evaluation.Response, error) {
	if len(req.ResourceList) > c.limits.MaxMessageSize/2 {
		return c.stream(ctx, req, from)
	}
	resp, err := c.v1.Evaluate(ctx, &evaluatorv1.EvaluateRequest{Image: req.Image, ResourceList: req.ResourceList}, c.callOptions(grpc.Peer(from))...)
	if err != nil {
		return evaluation.Response{}, err
	}
	return checkedResponse(resp.GetResourceList(), resp.GetEvaluation())
}

// evaluatePorch uses Porch's contract. For a failed function, Porch's runner returns only code Internal and a text, and it does
// not check outputs.
func (c *Client) evaluatePorch(ctx context.Context, req evaluation.Request, options ...grpc.CallOption) (evaluation.Response, error) {
	resp, err := c.porch.EvaluateFunction(ctx,
		&evaluator.EvaluateFunctionRequest{Image: req.Image, ResourceList: req.ResourceList}, c.callOptions(options...)...)
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

// checkedResponse builds the response from the fields of a krmfn.evaluator.v1 response. It returns an error if required fields are
// missing.
func checkedResponse(list []byte, report *evaluationv1.Evaluation) (evaluation.Response, error) {
	switch {
	case report == nil:
		return evaluation.Response{}, errors.New("invalid response of the function runner: no evaluation")
	case report.GetFailure() != nil:
		return evaluation.Response{Report: report}, nil
	case len(list) == 0:
		return evaluation.Response{}, errors.New("invalid response of the function runner: no ResourceList")
	}
	return evaluation.Response{ResourceList: list, Report: report}, nil
}

func (c *Client) callOptions(more ...grpc.CallOption) []grpc.CallOption {
	return append(more, grpc.MaxCallSendMsgSize(c.limits.MaxMessageSize), grpc.MaxCallRecvMsgSize(c.limits.MaxMessageSize))
}

// Prepare asks the runner to prepare images, and returns for each image what will evaluate it. If the runner supports only
// Porch's contract, the error wraps errors.ErrUnsupported.
func (c *Client) Prepare(ctx context.Context, images []string) ([]*evaluatorv1.PreparedFunction, error) {
	var functions []*evaluatorv1.PreparedFunction
	for part := range slices.Chunk(images, maxPrepared) {
		resp, err := c.v1.Prepare(ctx, &evaluatorv1.PrepareRequest{Images: part}, c.callOptions()...)
		if err != nil {
			return functions, c.unsupported(ctx, "prepare images", err)
		}
		functions = append(functions, resp.GetFunctions()...)
	}
	return functions, nil
}

// maxPrepared is the maximum number of images in a PrepareRequest.
const maxPrepared = 256

// ListFunctions returns the runner's functions, sorted by name. If the runner supports only Porch's contract, the error wraps
// errors.ErrUnsupported.
func (c *Client) ListFunctions(ctx context.Context) ([]*evaluatorv1.Function, error) {
	resp, err := c.v1.ListFunctions(ctx, &evaluatorv1.ListFunctionsRequest{}, c.callOptions()...)
	return resp.GetFunctions(), c.unsupported(ctx, "list functions", err)
}

func (c *Client) unsupported(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case status.Code(err) == codes.Unimplemented:
		return fmt.Errorf("the function runner at %s cannot %s: %w", c.target, what, errors.ErrUnsupported)
	}
	return fmt.Errorf("function runner at %s: %s: %w", c.target, what, err)
}
