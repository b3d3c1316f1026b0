// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// Client calls function runners as Porch does: over one connection, on Porch's contract, without retries and without
// waiting for a connection that has failed. It may be used concurrently.
type Client struct {
	conn *grpc.ClientConn
	rpc  evaluatorgrpc.FunctionEvaluatorClient
}

func newClient(address string) (*Client, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, rpc: evaluatorgrpc.NewFunctionEvaluatorClient(conn)}, nil
}

// Evaluate calls a function and returns its output. Errors are gRPC statuses.
func (c *Client) Evaluate(ctx context.Context, image string, list []byte) ([]byte, error) {
	resp, err := c.rpc.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: image, ResourceList: list})
	return resp.GetResourceList(), err
}

// Close closes the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Report returns what an error of Evaluate says of the evaluation in particular; nil if it says nothing.
func Report(err error) *evaluationv1.Evaluation {
	for _, detail := range status.Convert(err).Details() {
		if report, ok := detail.(*evaluationv1.Evaluation); ok {
			return report
		}
	}
	return nil
}

// Code returns the code of an error of Evaluate.
func Code(err error) codes.Code { return status.Code(err) }

// reachable returns when an address accepts connections: nodes learn of a new Service in their own time.
func reachable(ctx context.Context, address string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		dialer := net.Dialer{Timeout: time.Second}
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if last = err; err != nil {
			return false, nil
		}
		return true, conn.Close()
	})
	if err != nil {
		return fmt.Errorf("reach function runners at %s: %w: %w", address, err, last)
	}
	return nil
}
