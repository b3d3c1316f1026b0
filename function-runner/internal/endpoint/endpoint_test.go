// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/internal/wrapperapi"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type handler func(ctx context.Context) error

// server is a fake wrapper server that listens on a TCP socket.
type server struct {
	wrapperv1grpc.UnimplementedFunctionServiceServer
	handle  handler
	address string
	health  *health.Server
	options []grpc.ServerOption

	mu      sync.Mutex
	server  *grpc.Server
	serving sync.WaitGroup
	calls   int
}

func (s *server) Evaluate(ctx context.Context, req *wrapperv1.EvaluateRequest) (*wrapperv1.EvaluateResponse, error) {
	s.mu.Lock()
	s.calls++
	s.mu.Unlock()
	if s.handle != nil {
		if err := s.handle(ctx); err != nil {
			return nil, err
		}
	}
	return &wrapperv1.EvaluateResponse{ResourceList: req.GetResourceList()}, nil
}

func newServer(t *testing.T, h handler) *server {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{handle: h, address: l.Addr().String(), health: health.NewServer()}
	s.serve(l)
	t.Cleanup(s.stop)
	return s
}

func (s *server) serve(l net.Listener) {
	server := grpc.NewServer(s.options...)
	wrapperv1grpc.RegisterFunctionServiceServer(server, s)
	grpc_health_v1.RegisterHealthServer(server, s.health)
	s.mu.Lock()
	s.server = server
	s.mu.Unlock()
	s.serving.Go(func() { _ = server.Serve(l) })
}

func (s *server) stop() {
	s.mu.Lock()
	server := s.server
	s.mu.Unlock()
	server.Stop()
	s.serving.Wait()
}

// again restarts the server at the same address.
func (s *server) again(t *testing.T) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	s.serve(l)
}

// mine identifies the pod and function that the tests address.
var mine = wrapperapi.Target{PodUID: "1", Function: "fn"}

func ignore(wrapperapi.Load) {}

func dial(t *testing.T, address string) *endpoint.Endpoint {
	t.Helper()
	e := endpoint.New(t.Context(), "pod", "passthrough:///"+address, mine, endpoint.Options{MaxMessageSize: 1000})
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// within returns a context whose deadline ends a test that would otherwise hang.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// An endpoint is ready when the server reports SERVING, not when it listens. It is lost when the server stops, and ready after a restart.
func TestReadyAndLost(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	s := newServer(t, nil)
	s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	e := dial(t, s.address)
	ready := make(chan error, 1)
	go func() { ready <- e.Ready(ctx) }()
	short, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
	defer cancel()
	if err := e.Ready(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ready() while the server does not serve = %v, want DeadlineExceeded", err)
	}
	s.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	lost := make(chan *endpoint.Loss, 1)
	go func() { lost <- e.Lost(ctx) }()
	s.stop()
	if loss := <-lost; loss == nil || loss.Certain {
		t.Fatalf("Lost() = %+v, want a suspicion", loss)
	}
	s.again(t)
	if err := e.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	if resp, err := e.Evaluate(ctx, "image", []byte("list"), ignore); err != nil || string(resp.ResourceList) != "list" {
		t.Errorf("Evaluate() = %q, %v, want %q, nil", resp.ResourceList, err, "list")
	}
}

// A connection that the server closes for idleness is not a loss.
func TestReconnectIsNoLoss(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	s := newServer(t, nil)
	s.idle(t)
	e := dial(t, s.address)
	if err := e.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	watching, cancel := context.WithCancel(ctx)
	lost := make(chan *endpoint.Loss, 1)
	go func() { lost <- e.Lost(watching) }()
	for range 5 {
		if err := e.Ready(ctx); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if loss := <-lost; loss != nil {
		t.Errorf("Lost() = %v, want nil", loss)
	}
}

// idle restarts the server so that it closes idle connections after a millisecond.
func (s *server) idle(t *testing.T) {
	t.Helper()
	s.stop()
	s.options = []grpc.ServerOption{grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: time.Millisecond})}
	s.again(t)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	cause := errors.New("the caller has gone")
	for name, tc := range map[string]struct {
		handle handler
		list   string
		// notRun and lost say whether the error is a NotRunError or a LostError. code is the status code of any other error.
		notRun, lost bool
		code         codes.Code
	}{
		"refused": {handle: func(ctx context.Context) error {
			_ = grpc.SetTrailer(ctx, wrapperapi.Refusal())
			return status.Error(codes.Unavailable, "draining")
		}, notRun: true},
		"before it begins": {handle: func(context.Context) error { return status.Error(codes.Unavailable, "?") }, notRun: true},
		"before it begins, with a header": {handle: func(ctx context.Context) error {
			_ = grpc.SendHeader(ctx, wrapperapi.Load{}.Metadata())
			return status.Error(codes.Unavailable, "?")
		}, notRun: true},
		"after it has begun": {handle: func(ctx context.Context) error {
			_ = grpc.SendHeader(ctx, wrapperapi.Begun())
			return status.Error(codes.Unavailable, "?")
		}, lost: true},
		"cancelled": {handle: func(context.Context) error { return status.Error(codes.Canceled, "?") }, lost: true},
		"internal":  {handle: func(context.Context) error { return status.Error(codes.Internal, "?") }, code: codes.Internal},
		"too large": {list: string(make([]byte, 2000)), code: codes.ResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := dial(t, newServer(t, tc.handle).address)
			_, err := e.Evaluate(within(t), "image", []byte(tc.list), ignore)
			if got := errors.As(err, new(*endpoint.NotRunError)); got != tc.notRun {
				t.Errorf("Evaluate() error is a NotRunError = %v, want %v: %v", got, tc.notRun, err)
			}
			if got := errors.As(err, new(*endpoint.LostError)); got != tc.lost {
				t.Errorf("Evaluate() error is a LostError = %v, want %v: %v", got, tc.lost, err)
			}
			if got := status.Code(err); tc.code != codes.OK && got != tc.code {
				t.Errorf("Evaluate() code = %v, want %v: %v", got, tc.code, err)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, nil)
		s.stop()
		if _, err := dial(t, s.address).Evaluate(within(t), "image", nil, ignore); !errors.As(err, new(*endpoint.NotRunError)) {
			t.Errorf("Evaluate() error = %v, want a NotRunError", err)
		}
	})
	t.Run("caller goes", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(within(t))
		s := newServer(t, func(ctx context.Context) error {
			cancel(cause)
			<-ctx.Done()
			return ctx.Err()
		})
		if _, err := dial(t, s.address).Evaluate(ctx, "image", nil, ignore); !errors.Is(err, cause) {
			t.Errorf("Evaluate() error = %v, want %v", err, cause)
		}
	})
}

// gRPC does not retry a call whose connection breaks. The error says whether the function may have run.
func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	for name, begins := range map[string]bool{"while it runs": true, "while it waits in the pod": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there := make(chan struct{})
			s := newServer(t, func(ctx context.Context) error {
				if begins {
					_ = grpc.SendHeader(ctx, wrapperapi.Begun())
				}
				close(there)
				<-ctx.Done()
				return ctx.Err()
			})
			e := dial(t, s.address)
			go func() {
				<-there
				// The connection is ordered: the response to this health check arrives after the header of the call.
				_ = e.Ready(within(t))
				s.stop()
			}()
			_, err := e.Evaluate(within(t), "image", nil, ignore)
			if lost, notRun := errors.As(err, new(*endpoint.LostError)), errors.As(err, new(*endpoint.NotRunError)); lost != begins || notRun == begins {
				t.Errorf("Evaluate() error = %v, want a LostError: %v", err, begins)
			}
			s.stop()
			if s.calls != 1 {
				t.Errorf("the server got %d calls, want 1", s.calls)
			}
		})
	}
}

// Close waits for the running call. The endpoint rejects calls during and after Close.
func TestClose(t *testing.T) {
	t.Parallel()
	running, free := make(chan struct{}), make(chan struct{})
	s := newServer(t, func(context.Context) error {
		close(running)
		<-free
		return nil
	})
	e := dial(t, s.address)
	call := make(chan error, 1)
	go func() {
		_, err := e.Evaluate(within(t), "image", nil, ignore)
		call <- err
	}()
	<-running
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	close(free)
	if err := <-call; err != nil {
		t.Errorf("Evaluate() of the running call = %v, want nil", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := e.Evaluate(within(t), "image", nil, ignore); !errors.As(err, new(*endpoint.NotRunError)) {
		t.Errorf("Evaluate() after Close = %v, want a NotRunError", err)
	}
	if s.calls != 1 {
		t.Errorf("the server got %d calls, want 1", s.calls)
	}
}

// An endpoint closes an idle connection without reporting a loss. The next call opens another one.
func TestRests(t *testing.T) { //nolint:paralleltest // other tests have connections
	synctest.Test(t, func(t *testing.T) {
		listener, dials := bufconn.Listen(1<<16), 0
		s := &server{health: health.NewServer()}
		s.serve(listener)
		defer s.stop()
		e := endpoint.New(t.Context(), "pod", "passthrough:///pod", mine, endpoint.Options{MaxMessageSize: 1000, Dial: []grpc.DialOption{
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				dials++
				return listener.DialContext(ctx)
			}),
		}})
		defer e.Close() //nolint:errcheck // the test ends
		ctx, cancel := context.WithCancel(t.Context())
		lost := make(chan *endpoint.Loss, 1)
		go func() { lost <- e.Lost(ctx) }()
		for round := 1; round <= 3; round++ {
			if err := e.Ready(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Evaluate(ctx, "image", nil, ignore); err != nil || dials != round {
				t.Errorf("connections = %d, want %d; Evaluate() error = %v, want nil", dials, round, err)
			}
			time.Sleep(5 * time.Minute)
			stacks := make([]byte, 1<<20)
			if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("grpcsync")) {
				t.Errorf("round %d: a connection is left:\n%s", round, stacks)
			}
		}
		cancel()
		if loss := <-lost; loss != nil {
			t.Errorf("Lost() = %v, want nil", loss)
		}
	})
}
