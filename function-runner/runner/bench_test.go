// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

// BenchmarkCall measures the overhead of the server and the chain with a call that no evaluator handles.
func BenchmarkCall(b *testing.B) {
	o := options.Default()
	o.DisableRuntimes, o.Exec.Config = "pod", ""
	r, err := New(b.Context(), Config{Options: o, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	var serving sync.WaitGroup
	defer serving.Wait()
	defer stop()
	serving.Go(func() {
		if err := r.Serve(ctx, listener); err != nil {
			b.Error(err)
		}
	})
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the benchmark ends
	client := evaluatorgrpc.NewFunctionEvaluatorClient(conn)
	req := &evaluator.EvaluateFunctionRequest{Image: "unknown", ResourceList: make([]byte, 4000)}
	for b.Loop() {
		if _, err := client.EvaluateFunction(b.Context(), req); status.Code(err) != codes.NotFound {
			b.Fatal(err)
		}
	}
}
