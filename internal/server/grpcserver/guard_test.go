// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
)

// Unauthorised calls are rejected before the request is read, for unary methods and streams. Health is open to all.
func TestPermit(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	permit := func(_ context.Context, method string) error {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, method)
		return status.Error(codes.PermissionDenied, "not you")
	}
	budget := middleware.NewBudget(1, 1)
	h := startWith(t, Options{Guard: Guard{Permit: permit}, Budget: budget})
	defer h.end(t)
	// If the request were read, the call would be rejected for its size.
	if err := h.call(t, "large"); status.Code(err) != codes.PermissionDenied {
		t.Errorf("error of an unauthorized call = %v, want PermissionDenied", err)
	}
	stream, err := grpc_reflection_v1.NewServerReflectionClient(h.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("error of reflection = %v, want PermissionDenied", err)
	}
	if _, err := h.health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: Liveness}); err != nil {
		t.Errorf("error of a health check = %v, want nil", err)
	}
	watch, err := h.health.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: Liveness})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Errorf("error of a health watch = %v, want nil", err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{evaluatorgrpc.FunctionEvaluator_EvaluateFunction_FullMethodName, grpc_reflection_v1.ServerReflection_ServerReflectionInfo_FullMethodName}
	if !slices.Equal(asked, want) {
		t.Errorf("methods passed to Permit = %v, want %v", asked, want)
	}
}

// The health port has the server's health, also during a shutdown, and no other service.
func TestHealthPort(t *testing.T) {
	t.Parallel()
	probes := bufconn.Listen(1 << 16)
	h := startWith(t, Options{Guard: Guard{Health: probes}, Linger: 50 * time.Millisecond})
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return probes.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the connection is not used any more
	health := grpc_health_v1.NewHealthClient(conn)
	answers := func(service string, want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		resp, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil || resp.GetStatus() != want {
			t.Errorf("health of %q = %v, %v, want %v", service, resp.GetStatus(), err, want)
		}
	}
	answers(Liveness, grpc_health_v1.HealthCheckResponse_SERVING)
	answers(Readiness, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	h.server.SetServing(true)
	answers(Readiness, grpc_health_v1.HealthCheckResponse_SERVING)
	h.server.Leave()
	answers(Readiness, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	_, err = evaluatorgrpc.NewFunctionEvaluatorClient(conn).EvaluateFunction(t.Context(), nil)
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("error of an evaluation on the health port = %v, want Unimplemented", err)
	}
	h.end(t)
	if _, err := probes.Dial(); err == nil {
		t.Error("the health port is still open after the shutdown")
	}
}
