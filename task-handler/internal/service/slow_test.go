// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/task-handler/internal/rendering"
)

// Calls end if the client does not send its package, or does not read the response. Their memory becomes free for other calls.
func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, sends := range map[string]bool{"sender": false, "reader": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &TaskHandler{
					Budget: middleware.NewBudget(size, 1), Receiving: middleware.NewGate(1, 1), MaxPackageSize: size, MaxFiles: 1, MaxMessageSize: size,
					Renderer: func(context.Context, rendering.Request) (rendering.Result, error) {
						return rendering.Result{Changes: []packages.Change{{Path: "a", After: make([]byte, size)}}}, nil
					},
				}
				client := serve(t, h)
				slow := begin(t, client)
				if sends {
					if err := slow.CloseSend(); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				begun := time.Now()
				other := begin(t, client)
				if err := other.CloseSend(); err != nil {
					t.Fatal(err)
				}
				if err := last(other); err != nil || time.Since(begun) > grpcserver.TransferTime(size) {
					t.Errorf("next call after %v: error %v", time.Since(begun), err)
				}
				time.Sleep(grpcserver.TransferTime(size)) // synctest's clock
				if reserved, _ := h.Budget.Load(); reserved != 0 {
					t.Errorf("reserved bytes = %d, want 0", reserved)
				}
				if err := last(slow); status.Code(err) != codes.DeadlineExceeded {
					t.Errorf("slow call: error %v", err)
				}
			})
		})
	}
}

// begin starts a render and sends the options. Its deadline is three times the time for transfers.
func begin(t *testing.T, client taskhandlerv1grpc.TaskHandlerServiceClient) grpc.BidiStreamingClient[taskhandlerv1.RenderStreamRequest, taskhandlerv1.RenderStreamResponse] {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*grpcserver.TransferTime(1<<20))
	t.Cleanup(cancel)
	stream, err := client.RenderStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	options := &taskhandlerv1.RenderStreamRequest_Options{Options: &taskhandlerv1.RenderOptions{}}
	if err := stream.Send(&taskhandlerv1.RenderStreamRequest{Part: options}); err != nil {
		t.Fatal(err)
	}
	return stream
}

// last reads the whole response and returns its error; nil for a result.
func last(stream grpc.BidiStreamingClient[taskhandlerv1.RenderStreamRequest, taskhandlerv1.RenderStreamResponse]) error {
	for {
		part, err := stream.Recv()
		if err != nil || part.GetResult() != nil {
			return err
		}
	}
}

// serve serves h on an in-memory connection.
func serve(t *testing.T, h *TaskHandler) taskhandlerv1grpc.TaskHandlerServiceClient {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	server := grpcserver.New(ctx, grpcserver.Options{
		MaxMessageSize: h.MaxMessageSize, Budget: h.Budget, Drain: time.Second, KeepConnections: true, Logger: slog.New(slog.DiscardHandler),
	})
	taskhandlerv1grpc.RegisterTaskHandlerServiceServer(server, h)
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
			t.Errorf("Serve() = %v", err)
		}
	})
	return taskhandlerv1grpc.NewTaskHandlerServiceClient(conn)
}
