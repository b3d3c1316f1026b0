// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/internal/wrapperapi"
)

// dialSimulated serves s in memory, inside the test's synctest bubble, and returns an endpoint for it.
func dialSimulated(t *testing.T, s *server) *endpoint.Endpoint {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	s.health = health.NewServer()
	s.serve(listener)
	t.Cleanup(s.stop)
	e := endpoint.New(t.Context(), "pod", "passthrough:///pod", mine, endpoint.Options{MaxMessageSize: 1000, Dial: []grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
	}})
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// When a pod fails its health checks, the watchdog cancels the calls that the pod has not started. It cancels the started calls after 5
// seconds, unless the pod responds again. A draining pod finishes all its calls.
func TestCallsOfPodThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	const callTime = 20 * time.Second
	for name, tc := range map[string]struct {
		// drains says that the pod answers health checks with NOT_SERVING.
		begins, drains bool
		// silence is the time during which the pod does not answer health checks.
		silence time.Duration
		// least and most bound the duration of the call.
		least, most  time.Duration
		notRun, lost bool
	}{
		"has not begun":               {silence: time.Hour, most: 5 * time.Second, notRun: true},
		"runs":                        {begins: true, silence: time.Hour, least: 5 * time.Second, most: 8 * time.Second, lost: true},
		"runs, the pod answers again": {begins: true, silence: 3200 * time.Millisecond, least: callTime, most: callTime},
		"waits in a pod that drains":  {drains: true, least: callTime, most: callTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				s := &server{handle: func(ctx context.Context) error {
					if tc.begins {
						_ = grpc.SendHeader(ctx, wrapperapi.Begun())
					}
					select {
					case <-time.After(callTime):
					case <-ctx.Done():
					}
					return ctx.Err()
				}}
				s.options = []grpc.ServerOption{grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
					if info.FullMethod == grpc_health_v1.Health_Check_FullMethodName && time.Since(begin) < tc.silence {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return handle(ctx, req)
				})}
				e := dialSimulated(t, s)
				if tc.drains {
					s.health.Shutdown()
				}
				_, err := e.Evaluate(within(t), "image", nil, ignore)
				if took := time.Since(begin); took < tc.least || took > tc.most {
					t.Errorf("the call took %v, want %v to %v", took, tc.least, tc.most)
				}
				notRun, lost := errors.As(err, new(*endpoint.NotRunError)), errors.As(err, new(*endpoint.LostError))
				if notRun != tc.notRun || lost != tc.lost || err != nil && !notRun && !lost {
					t.Errorf("Evaluate() error = %v, want not run: %v, lost: %v", err, tc.notRun, tc.lost)
				}
				if loss := e.Lost(within(t)); loss == nil || !loss.Certain {
					t.Errorf("Lost() = %+v, want a certain loss", loss)
				}
			})
		})
	}
}

// Lost returns the same loss until Ready succeeds, and then waits for the next loss.
func TestReadyForgetsLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := dialSimulated(t, &server{})
		if err := e.Ready(within(t)); err != nil {
			t.Fatal(err)
		}
		for _, reason := range []error{errors.New("the first"), errors.New("the second")} {
			e.Suspect(reason)
			for range 2 {
				if loss := e.Lost(within(t)); loss == nil || !errors.Is(loss.Reason, reason) || loss.Certain {
					t.Errorf("Lost() = %+v, want a suspicion for %v", loss, reason)
				}
			}
			if err := e.Ready(within(t)); err != nil {
				t.Fatal(err)
			}
			if loss := e.Lost(within(t)); loss != nil {
				t.Errorf("Lost() = %v after the pod was ready again, want nil at the end of the context", loss)
			}
		}
	})
}
