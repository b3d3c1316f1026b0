// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is an evaluator that is controlled by the image of the request.
type stub struct {
	evaluatorgrpc.UnimplementedFunctionEvaluatorServer
	entered chan struct{}
	release chan struct{}
}

func (s *stub) EvaluateFunction(ctx context.Context, req *evaluator.EvaluateFunctionRequest) (*evaluator.EvaluateFunctionResponse, error) {
	switch req.GetImage() {
	case "panic":
		panic("on purpose")
	case "large":
		return &evaluator.EvaluateFunctionResponse{ResourceList: make([]byte, 2000)}, nil
	case "hang":
		s.entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	case "wait":
		s.entered <- struct{}{}
		<-s.release
	}
	return &evaluator.EvaluateFunctionResponse{}, nil
}

// harness is a server on an in-memory connection with a client. It serves until stop.
type harness struct {
	*stub
	server *Server
	conn   *grpc.ClientConn
	client evaluatorgrpc.FunctionEvaluatorClient
	health grpc_health_v1.HealthClient
	stop   context.CancelFunc
	served chan error
}

func start(t *testing.T) *harness { return startWith(t, Options{}) }

func startWith(t *testing.T, o Options) *harness {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	h := &harness{stub: &stub{entered: make(chan struct{}), release: make(chan struct{})}, stop: cancel, served: make(chan error, 1)}
	o.MaxMessageSize, o.Drain, o.Logger = 1000, time.Minute, slog.New(slog.NewTextHandler(io.Discard, nil))
	h.server = New(ctx, o)
	evaluatorgrpc.RegisterFunctionEvaluatorServer(h.server, h.stub)
	h.server.SetServing(false)
	listener := bufconn.Listen(1 << 16)
	go func() { h.served <- h.server.Serve(ctx, listener) }()
	var err error
	h.conn, err = grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	h.client, h.health = evaluatorgrpc.NewFunctionEvaluatorClient(h.conn), grpc_health_v1.NewHealthClient(h.conn)
	return h
}

// end waits until the shutdown has ended.
func (h *harness) end(t *testing.T) {
	t.Helper()
	h.stop()
	if err := <-h.served; err != nil {
		t.Errorf("Serve() = %v, want nil", err)
	}
	_ = h.conn.Close()
}

func (h *harness) call(t *testing.T, image string) error {
	_, err := h.client.EvaluateFunction(t.Context(), &evaluator.EvaluateFunctionRequest{Image: image})
	return err
}

func TestPanicEndsOneCall(t *testing.T) {
	t.Parallel()
	h := start(t)
	defer h.end(t)
	if err := h.call(t, "panic"); status.Code(err) != codes.Internal {
		t.Errorf("error of a panic = %v, want %v", err, codes.Internal)
	}
	if err := h.call(t, ""); err != nil {
		t.Errorf("error of the next call = %v, want nil", err)
	}
}

func TestMessageLimitStatesBothSizes(t *testing.T) {
	t.Parallel()
	h := start(t)
	defer h.end(t)
	for name, image := range map[string]string{"request": strings.Repeat("x", 2000), "response": "large"} {
		err := h.call(t, image)
		if text := status.Convert(err).Message(); status.Code(err) != codes.ResourceExhausted ||
			!strings.Contains(text, "larger than max (20") || !strings.Contains(text, "vs. 1000)") {
			t.Errorf("%s: error = %v, want both sizes in it", name, err)
		}
	}
}

// status returns the server's health for a service name.
func (h *harness) status(t *testing.T, service string) grpc_health_v1.HealthCheckResponse_ServingStatus {
	t.Helper()
	resp, err := h.health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
	if err != nil {
		t.Errorf("health of %q: error = %v", service, err)
	}
	return resp.GetStatus()
}

const (
	serving    = grpc_health_v1.HealthCheckResponse_SERVING
	notServing = grpc_health_v1.HealthCheckResponse_NOT_SERVING
)

// Probes for liveness and readiness, and the probe in Porch's documentation, which has no service name and serves for both, all
// get a health that suits them.
func TestHealth(t *testing.T) {
	t.Parallel()
	type health = grpc_health_v1.HealthCheckResponse_ServingStatus
	for name, tc := range map[string]struct {
		do                     func(*Server)
		live, ready, anonymous health
	}{
		"starting":          {func(*Server) {}, serving, notServing, notServing},
		"nothing to start":  {func(s *Server) { s.SetStarted() }, serving, notServing, serving},
		"not ready in time": {func(*Server) { time.Sleep(startTime + time.Second) }, serving, notServing, serving},
		"not ready yet":     {func(*Server) { time.Sleep(startTime - time.Second) }, serving, notServing, notServing},
		"ready":             {func(s *Server) { s.SetServing(true) }, serving, serving, serving},
		"no longer ready":   {func(s *Server) { s.SetServing(true); s.SetServing(false) }, serving, notServing, serving},
		"ready again":       {func(s *Server) { s.SetServing(true); s.SetServing(false); s.SetServing(true) }, serving, serving, serving},
		"leaving":           {func(s *Server) { s.SetServing(true); s.Leave() }, serving, notServing, notServing},
		"set after Leave":   {func(s *Server) { s.Leave(); s.SetServing(true); s.SetStarted() }, serving, notServing, notServing},
		"long after Leave":  {func(s *Server) { s.Leave(); time.Sleep(2 * startTime) }, serving, notServing, notServing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := start(t)
				defer h.end(t)
				tc.do(h.server)
				for service, want := range map[string]health{
					Liveness: tc.live, Readiness: tc.ready, evaluatorgrpc.FunctionEvaluator_ServiceDesc.ServiceName: tc.ready, "": tc.anonymous,
				} {
					if got := h.status(t, service); got != want {
						t.Errorf("health of %q = %v, want %v", service, got, want)
					}
				}
			})
		})
	}
}

func TestReflection(t *testing.T) {
	t.Parallel()
	h := start(t)
	defer h.end(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(h.conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	list := &grpc_reflection_v1.ServerReflectionRequest_ListServices{}
	if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: list}); err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil || !strings.Contains(resp.String(), "evaluator.FunctionEvaluator") {
		t.Errorf("services = %v (%v), want the evaluator among them", resp, err)
	}
}

// A shutdown waits for running calls and sends NOT_SERVING to health watches without waiting for them.
func TestShutdownFinishesCalls(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.server.SetServing(true)
	watch, err := h.health.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Fatalf("first message of the watch = %v (%v), want SERVING", got, err)
	}
	called := make(chan error, 1)
	go func() { called <- h.call(t, "wait") }()
	<-h.entered
	h.stop()
	if got, err := watch.Recv(); err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("second message of the watch = %v (%v), want NOT_SERVING", got, err)
	}
	close(h.release)
	if err := <-called; err != nil {
		t.Errorf("error of the running call = %v, want nil", err)
	}
	h.end(t)
}

// A health watch does not delay the shutdown, whether its service was never SERVING or is SERVING to the end.
func TestShutdownEndsWatches(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"", Readiness, Liveness} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := startWith(t, Options{Linger: 3 * time.Second})
				watch, err := h.health.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := watch.Recv(); err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				h.end(t)
				if took := time.Since(begin); took != 3*time.Second {
					t.Errorf("the shutdown took %v, want at most Linger", took)
				}
			})
		})
	}
}

func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := start(t)
		called := make(chan error, 1)
		go func() { called <- h.call(t, "hang") }()
		<-h.entered
		begin := time.Now()
		h.end(t)
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("the shutdown took %v, want Drain", took)
		}
		if err := <-called; status.Code(err) != codes.Unavailable {
			t.Errorf("error of the cancelled call = %v, want %v", err, codes.Unavailable)
		}
	})
}

// During Linger, new calls are accepted, because clients may not know of the shutdown yet.
func TestShutdownLingers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startWith(t, Options{Linger: 3 * time.Second})
		h.server.SetServing(true)
		if err := h.call(t, ""); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		h.stop()
		time.Sleep(2 * time.Second) // fake time
		h.server.SetServing(true)
		for service, want := range map[string]grpc_health_v1.HealthCheckResponse_ServingStatus{"": notServing, Readiness: notServing, Liveness: serving} {
			if got := h.status(t, service); got != want {
				t.Errorf("health of %q = %v, want %v", service, got, want)
			}
		}
		if err := h.call(t, ""); err != nil {
			t.Errorf("error of a new call = %v, want nil", err)
		}
		h.end(t)
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("the shutdown took %v, want Linger", took)
		}
	})
}

// The last server skips Linger but still waits for running calls.
func TestShutdownOfLastServerSkipsLinger(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		last   func(ctx context.Context) bool
		linger time.Duration
		want   time.Duration
	}{
		"last":         {func(context.Context) bool { return true }, 3 * time.Second, 0},
		"not the last": {func(context.Context) bool { return false }, 3 * time.Second, 3 * time.Second},
		"slow answer":  {func(context.Context) bool { time.Sleep(time.Second); return true }, 3 * time.Second, time.Second},
		"no answer":    {func(ctx context.Context) bool { <-ctx.Done(); return false }, 3 * time.Second, 3 * time.Second},
		"no linger":    {func(context.Context) bool { panic("Last must not be called") }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := startWith(t, Options{Linger: test.linger, Last: test.last})
				called := make(chan error, 1)
				go func() { called <- h.call(t, "wait") }()
				<-h.entered
				h.stop()
				time.Sleep(test.want + time.Millisecond) // fake time
				if err := h.call(t, ""); status.Code(err) != codes.Unavailable {
					t.Errorf("after %v, error of a new call = %v, want %v", test.want, err, codes.Unavailable)
				}
				close(h.release)
				if err := <-called; err != nil {
					t.Errorf("error of the running call = %v, want nil", err)
				}
				h.end(t)
			})
		})
		t.Run(name+", idle", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := startWith(t, Options{Linger: test.linger, Last: test.last})
				begin := time.Now()
				h.end(t)
				if took := time.Since(begin); took != test.want {
					t.Errorf("the shutdown took %v, want %v", took, test.want)
				}
			})
		})
	}
}

// Clients reconnect regularly, so that a Service can distribute their connections, unless KeepConnections is set.
func TestConnectionAge(t *testing.T) {
	t.Parallel()
	for keep, want := range map[bool]connectivity.State{false: connectivity.Idle, true: connectivity.Ready} {
		synctest.Test(t, func(t *testing.T) {
			h := startWith(t, Options{KeepConnections: keep})
			if err := h.call(t, ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * connectionAge) // fake time
			if got := h.conn.GetState(); got != want {
				t.Errorf("KeepConnections=%v: connection state = %v, want %v", keep, got, want)
			}
			h.end(t)
		})
	}
}
