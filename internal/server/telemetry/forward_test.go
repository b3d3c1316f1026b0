// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"net"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// parentServer is a health service that records the traceparent of the last call. A call with a service name makes it call itself once,
// as a function runner calls a pod.
type parentServer struct {
	*health.Server
	client  grpc_health_v1.HealthClient
	parents chan []string
}

func (s *parentServer) Check(ctx context.Context, req *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if req.GetService() != "" {
		return s.client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	}
	s.parents <- metadata.ValueFromIncomingContext(ctx, "traceparent")
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

// Outgoing calls continue the trace of the incoming call, whether or not traces are exported. A call without a trace starts one only if
// traces are exported.
func TestTraceContext(t *testing.T) {
	t.Parallel()
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	propagator := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	metrics := sdkmetric.NewMeterProvider()
	for name, tc := range map[string]struct {
		telemetry *Telemetry
		begins    bool
	}{
		"nothing is exported": {telemetry: &Telemetry{}},
		"metrics":             {telemetry: &Telemetry{Metrics: metrics, Traces: tracenoop.NewTracerProvider(), Active: true, Propagator: propagator}},
		"traces":              {telemetry: &Telemetry{Metrics: metrics, Traces: sdktrace.NewTracerProvider(), Active: true, Propagator: propagator}, begins: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &parentServer{Server: health.NewServer(), parents: make(chan []string, 1)}
			server := grpc.NewServer(tc.telemetry.ServerOptions()...)
			grpc_health_v1.RegisterHealthServer(server, s)
			listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			conn, err := grpc.NewClient(listener.Addr().String(), append(tc.telemetry.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
			if err != nil {
				t.Fatal(err)
			}
			s.client = grpc_health_v1.NewHealthClient(conn)
			done := make(chan error, 1)
			go func() { done <- server.Serve(listener) }()
			plain, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			call := func(ctx context.Context) []string {
				t.Helper()
				if _, err := grpc_health_v1.NewHealthClient(plain).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "again"}); err != nil {
					t.Fatal(err)
				}
				return <-s.parents
			}
			if got := call(metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-"+traceID+"-b7ad6b7169203331-01")); len(got) != 1 || !strings.Contains(got[0], traceID) {
				t.Errorf("traceparent of a call in trace %s = %q", traceID, got)
			}
			if got := call(t.Context()); (len(got) == 1 && !strings.Contains(got[0], trace.TraceID{}.String())) != tc.begins {
				t.Errorf("traceparent of a call without a trace = %q, want a new trace: %v", got, tc.begins)
			}
			_, _ = conn.Close(), plain.Close()
			server.Stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
