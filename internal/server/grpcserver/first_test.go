// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

// silent starts a call that sends no message.
func silent(t *testing.T, conn *grpc.ClientConn, method string) grpc.ClientStream {
	t.Helper()
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// end returns the code that a call ends with.
func end(stream grpc.ClientStream) codes.Code {
	return status.Code(stream.RecvMsg(new(evaluator.EvaluateFunctionResponse)))
}

// healthConn returns a connection to a server's health port. It lasts until the server ends.
func healthConn(t *testing.T, probes *bufconn.Listener) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return probes.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// Every method on every port has a deadline for the first message.
func TestFirstMessageHasADeadline(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]time.Duration{
		evaluatorgrpc.FunctionEvaluator_EvaluateFunction_FullMethodName:         firstMessageTime,
		grpc_reflection_v1.ServerReflection_ServerReflectionInfo_FullMethodName: firstMessageTime,
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo":        firstMessageTime,
		grpc_health_v1.Health_Check_FullMethodName:                              shortMessageTime,
		grpc_health_v1.Health_List_FullMethodName:                               shortMessageTime,
		grpc_health_v1.Health_Watch_FullMethodName:                              shortMessageTime,
		"on the health port: " + grpc_health_v1.Health_Check_FullMethodName:     shortMessageTime,
		"on the health port: " + grpc_health_v1.Health_Watch_FullMethodName:     shortMessageTime,
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				probes := bufconn.Listen(1 << 16)
				h := startWith(t, Options{Guard: Guard{Health: probes}})
				defer h.end(t)
				conn := h.conn
				method, health := strings.CutPrefix(method, "on the health port: ")
				if health {
					conn = healthConn(t, probes)
					defer conn.Close() //nolint:errcheck // the connection is not used any more
				}
				begin := time.Now()
				if got := end(silent(t, conn, method)); got != codes.DeadlineExceeded || time.Since(begin) != want {
					t.Errorf("a silent call ended with %v after %v, want %v after %v", got, time.Since(begin), codes.DeadlineExceeded, want)
				}
			})
		})
	}
}

// While many calls wait to be read, calls that send no message have a shorter deadline.
func TestSilentCallsAreCutOffEarlier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startWith(t, Options{})
		defer h.end(t)
		for range 4 {
			go end(silent(t, h.conn, evaluatorgrpc.FunctionEvaluator_EvaluateFunction_FullMethodName))
		}
		synctest.Wait()
		begin := time.Now()
		if err := h.call(t, ""); err != nil || time.Since(begin) != shortMessageTime {
			t.Errorf("a call behind silent ones ended after %v with error %v, want success after %v", time.Since(begin), err, shortMessageTime)
		}
	})
}

// Slow clients cannot block probes.
func TestNewProbesEvictSlowOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startWith(t, Options{})
		defer h.end(t)
		const first = 3
		var calls []grpc.ClientStream
		for range maxHealthReaders + first {
			calls = append(calls, silent(t, h.conn, grpc_health_v1.Health_Check_FullMethodName))
			synctest.Wait()
		}
		begin := time.Now()
		for i, call := range calls[:first] {
			if got := end(call); got != codes.DeadlineExceeded || time.Since(begin) != 0 {
				t.Errorf("silent call %d ended with %v after %v, want %v at once", i, got, time.Since(begin), codes.DeadlineExceeded)
			}
		}
		if _, err := h.health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: Liveness}); err != nil || time.Since(begin) != 0 {
			t.Errorf("Check() error = %v after %v, want success at once", err, time.Since(begin))
		}
	})
}

// The number of streams that clients can keep open is limited.
func TestOpenStreamsAreLimited(t *testing.T) {
	t.Parallel()
	reflect := func(ctx context.Context, h *harness) error {
		stream, err := grpc_reflection_v1.NewServerReflectionClient(h.conn).ServerReflectionInfo(ctx)
		if err != nil {
			return err
		}
		list := &grpc_reflection_v1.ServerReflectionRequest_ListServices{}
		_ = stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: list})
		_, err = stream.Recv()
		return err
	}
	watch := func(ctx context.Context, h *harness) error {
		stream, err := h.health.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	for name, tc := range map[string]struct {
		open func(context.Context, *harness) error
		most int
	}{"reflection": {reflect, maxReflections}, "watches": {watch, maxWatches}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := startWith(t, Options{})
				defer h.end(t)
				ctx, closeAll := context.WithCancel(t.Context())
				defer closeAll()
				for i := range tc.most {
					if err := tc.open(ctx, h); err != nil {
						t.Fatalf("stream %d: %v", i, err)
					}
				}
				if err := tc.open(ctx, h); status.Code(err) != codes.ResourceExhausted {
					t.Errorf("stream %d: error = %v, want %v", tc.most, err, codes.ResourceExhausted)
				}
				closeAll()
				synctest.Wait()
				last, closeLast := context.WithCancel(t.Context())
				defer closeLast()
				if err := tc.open(last, h); err != nil {
					t.Errorf("error of a stream after the others have ended = %v, want nil", err)
				}
			})
		})
	}
}

// Metadata is limited on both ports.
func TestHeadersAreLimited(t *testing.T) {
	t.Parallel()
	probes := bufconn.Listen(1 << 16)
	h := startWith(t, Options{Guard: Guard{Health: probes}, Budget: middleware.NewBudget(1, 1)})
	defer h.end(t)
	health := healthConn(t, probes)
	defer health.Close() //nolint:errcheck // the connection is not used any more
	for _, tc := range []struct {
		conn *grpc.ClientConn
		size int
		want bool
	}{{h.conn, 15 << 10, true}, {h.conn, 16 << 10, false}, {health, 3 << 10, true}, {health, 4 << 10, false}} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("x", tc.size))
		_, err := grpc_health_v1.NewHealthClient(tc.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: Liveness})
		if (err == nil) != tc.want {
			t.Errorf("a call with %d bytes of metadata: error = %v, want success = %v", tc.size, err, tc.want)
		}
	}
}
