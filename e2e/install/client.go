// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

const (
	// connectTimeout is the timeout for connecting to function runners. redialDelay is the delay between attempts.
	connectTimeout, redialDelay = 30 * time.Second, 50 * time.Millisecond
)

// Client calls function runners as Porch does: over one connection, with Porch's API, without retries and without waiting for a failed
// connection. It is safe for concurrent use.
type Client struct {
	conn *grpc.ClientConn
	rpc  evaluatorgrpc.FunctionEvaluatorClient
	v1   evaluatorv1grpc.FunctionEvaluatorServiceClient
}

// maxResponseBytes is the maximum size of a response in bytes. No function runner in these suites sends more.
const maxResponseBytes = 64 << 20

// connect returns a connected client. It retries, because nodes need time to program a new Service and its endpoints.
func connect(ctx context.Context, address string) (*Client, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxResponseBytes)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: redialDelay, Multiplier: 1, MaxDelay: redialDelay}, MinConnectTimeout: time.Second}))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		conn.Connect()
		if !conn.WaitForStateChange(ctx, state) {
			return nil, errors.Join(fmt.Errorf("connect to function runners at %s: %w", address, ctx.Err()), conn.Close())
		}
	}
	return &Client{conn: conn, rpc: evaluatorgrpc.NewFunctionEvaluatorClient(conn), v1: evaluatorv1grpc.NewFunctionEvaluatorServiceClient(conn)}, nil
}

// Evaluate calls a function and returns its output. Errors are gRPC statuses.
func (c *Client) Evaluate(ctx context.Context, image string, list []byte) ([]byte, error) {
	resp, err := c.rpc.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: image, ResourceList: list})
	return resp.GetResourceList(), err
}

// EvaluateReported calls a function and returns its output and details of the evaluation, such as the name of the pod.
func (c *Client) EvaluateReported(ctx context.Context, image string, list []byte) ([]byte, *evaluationv1.Evaluation, error) {
	resp, err := c.v1.Evaluate(ctx, &evaluatorv1.EvaluateRequest{Image: image, ResourceList: list})
	return resp.GetResourceList(), resp.GetEvaluation(), err
}

// EvaluateStream calls a function with a list that is streamed in chunks, and returns the size of the output.
func (c *Client) EvaluateStream(ctx context.Context, image string, list []byte) (size int, err error) {
	stream, err := c.v1.EvaluateStream(ctx)
	if err != nil {
		return 0, err
	}
	header := &evaluatorv1.EvaluateStreamHeader{Image: image, SizeBytes: int64(len(list))}
	err = stream.Send(&evaluatorv1.EvaluateStreamRequest{Part: &evaluatorv1.EvaluateStreamRequest_Header{Header: header}})
	for chunk := range slices.Chunk(list, 256<<10) {
		if err != nil {
			break // Recv returns the reason.
		}
		err = stream.Send(&evaluatorv1.EvaluateStreamRequest{Part: &evaluatorv1.EvaluateStreamRequest_Chunk{Chunk: chunk}})
	}
	if err == nil {
		err = stream.CloseSend()
	}
	for {
		part, failed := stream.Recv()
		if errors.Is(failed, io.EOF) {
			return size, err
		}
		if failed != nil {
			return size, failed
		}
		size += len(part.GetChunk())
	}
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Report returns the evaluation details in an error of Evaluate, or nil if it has none.
func Report(err error) *evaluationv1.Evaluation {
	for _, detail := range status.Convert(err).Details() {
		if report, ok := detail.(*evaluationv1.Evaluation); ok {
			return report
		}
	}
	return nil
}

// Code returns the gRPC code of an error of Evaluate.
func Code(err error) codes.Code { return status.Code(err) }
