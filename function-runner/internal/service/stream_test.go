// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/function-runner/internal/service"
	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// listSize is the size of the list of each call, in bytes. One list takes the whole memory budget.
const listSize = 4 << 20

type clientStream = grpc.BidiStreamingClient[evaluatorv1.EvaluateStreamRequest, evaluatorv1.EvaluateStreamResponse]

// TestSlowClientsAreCutOff starts a slow call that reserves the whole memory budget, and then a second call. The second call must get the
// memory as soon as the slow call is cut off.
func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		slow func(t *testing.T, stream clientStream)
		// delay is the time that the second call waits, which is the time limit of the slow call's current transfer.
		delay time.Duration
	}{
		"sends no header": {slow: func(*testing.T, clientStream) {}},
		"sends the header only": {
			slow:  func(t *testing.T, stream clientStream) { t.Helper(); sendHeader(t, stream) },
			delay: grpcserver.TransferTime(listSize),
		},
		"sends a byte a second": {
			slow: func(t *testing.T, stream clientStream) {
				t.Helper()
				sendHeader(t, stream)
				go func() {
					for sendChunk(stream, []byte("x")) == nil {
						time.Sleep(time.Second)
					}
				}()
			},
			delay: grpcserver.TransferTime(listSize),
		},
		"does not read the answer": {
			slow: func(t *testing.T, stream clientStream) {
				t.Helper()
				sendHeader(t, stream)
				sendList(t, stream)
			},
			delay: grpcserver.TransferTime(listSize),
		},
		"reads the answer too slowly": {
			slow: func(t *testing.T, stream clientStream) {
				t.Helper()
				sendHeader(t, stream)
				sendList(t, stream)
				for range 3 {
					if _, err := stream.Recv(); err != nil {
						t.Fatal(err)
					}
				}
			},
			delay: grpcserver.TransferTime(listSize),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newEvaluator(echo)
				client := serve(t, e)
				slow := begin(t, client)
				tc.slow(t, slow)
				synctest.Wait()
				begun := time.Now()
				second := begin(t, client)
				sendHeader(t, second)
				sendList(t, second)
				if _, err := receive(second); err != nil || time.Since(begun) != tc.delay {
					t.Errorf("second call took %v with error %v, want %v and no error", time.Since(begun), err, tc.delay)
				}
				time.Sleep(2 * grpcserver.TransferTime(listSize)) // in the bubble's fake time
				if reserved, _ := e.Budget.Load(); reserved != 0 {
					t.Errorf("reserved bytes after both calls = %d, want 0", reserved)
				}
				ended := time.Now()
				if _, err := receive(slow); status.Code(err) != codes.DeadlineExceeded || !time.Now().Equal(ended) {
					t.Errorf("slow call ended %v later with error %v, want %v before", time.Since(ended), err, codes.DeadlineExceeded)
				}
			})
		})
	}
}

// TestTransfersWithinTheirTimeSucceed uses almost the whole time limit of each transfer, which exceeds the limit of a smaller transfer,
// and runs the function for longer than the limit.
func TestTransfersWithinTheirTimeSucceed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		almost := grpcserver.TransferTime(listSize) - time.Second
		client := serve(t, newEvaluator(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
			time.Sleep(3 * almost) // in the bubble's fake time
			return echo(ctx, req)
		}))
		stream := begin(t, client)
		time.Sleep(19 * time.Second) // the server waits 20 seconds for a first message
		sendHeader(t, stream)
		time.Sleep(almost)
		sendList(t, stream)
		time.Sleep(4 * almost)
		got, err := receive(stream)
		if err != nil || !bytes.Equal(got, list()) {
			t.Errorf("receive() = %d bytes with error %v, want the %d bytes of the list", len(got), err, listSize)
		}
	})
}

func list() []byte { return bytes.Repeat([]byte("#"), listSize) }

func echo(_ context.Context, req evaluation.Request) (evaluation.Response, error) {
	return evaluation.Response{ResourceList: req.ResourceList, Report: &evaluationv1.Evaluation{Image: req.Image}}, nil
}

func newEvaluator(evaluate evaluation.Func) *service.Evaluator {
	return &service.Evaluator{
		Evaluator: evaluate, Budget: middleware.NewBudget(listSize, 10), MaxListSize: listSize, MaxMessageSize: 1 << 20,
	}
}

// begin starts a call whose deadline exceeds all transfer limits.
func begin(t *testing.T, client evaluatorv1grpc.FunctionEvaluatorServiceClient) clientStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*grpcserver.TransferTime(listSize))
	t.Cleanup(cancel)
	stream, err := client.EvaluateStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func sendHeader(t *testing.T, stream clientStream) {
	t.Helper()
	header := &evaluatorv1.EvaluateStreamHeader{Image: "fn:v1", SizeBytes: listSize}
	if err := stream.Send(&evaluatorv1.EvaluateStreamRequest{Part: &evaluatorv1.EvaluateStreamRequest_Header{Header: header}}); err != nil {
		t.Fatal(err)
	}
}

func sendChunk(stream clientStream, chunk []byte) error {
	return stream.Send(&evaluatorv1.EvaluateStreamRequest{Part: &evaluatorv1.EvaluateStreamRequest_Chunk{Chunk: chunk}})
}

// sendList sends the whole list. If the call has already ended, receive returns its error.
func sendList(t *testing.T, stream clientStream) {
	t.Helper()
	for chunk := range slices.Chunk(list(), 512<<10) {
		if err := sendChunk(stream, chunk); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
}

// receive reads the rest of the response.
func receive(stream clientStream) (list []byte, err error) {
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, part.GetChunk()...)
	}
}

// serve serves e in memory. The flow control window of clients is smaller than the responses.
func serve(t *testing.T, e *service.Evaluator) evaluatorv1grpc.FunctionEvaluatorServiceClient {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	server := grpcserver.New(ctx, grpcserver.Options{
		MaxMessageSize: e.MaxMessageSize, Budget: e.Budget, Drain: time.Second, KeepConnections: true, Logger: slog.New(slog.DiscardHandler),
	})
	evaluatorv1grpc.RegisterFunctionEvaluatorServiceServer(server, e)
	listener := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(64<<10),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		stop()
		if err := <-served; err != nil {
			t.Errorf("Serve() = %v, want nil", err)
		}
	})
	return evaluatorv1grpc.NewFunctionEvaluatorServiceClient(conn)
}
