// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Service names for probes with grpc.health.v1. The name of each registered service has the health of Readiness.
//
// Probes written for Porch use the empty name, for both liveness and readiness. The empty name is therefore NOT_SERVING only
// when that suits both. First, until the server can answer its first call, but at most for startTime: a rollout must wait, but
// a restart does not fix a missing runtime. Second, from the start of a shutdown: kubelets do not check the liveness of
// terminating pods.
const (
	// Liveness is SERVING until the server stops accepting calls, even if all calls fail.
	Liveness = "liveness"
	// Readiness is SERVING while calls can succeed.
	Readiness = "readiness"
)

// startTime is the maximum time that the empty name is NOT_SERVING because the server is not ready. It must be shorter than the
// time until a liveness probe fails, which is 50 s in Porch's documentation.
const startTime = 20 * time.Second

// SetServing sets the health of Readiness and of all registered services, which tells clients whether calls can succeed. The
// first SetServing(true) also sets the empty name to SERVING. After Leave, it has no effect.
func (s *Server) SetServing(serving bool) {
	names := s.callable()
	if serving {
		names = append(names, "")
	}
	s.setHealth(serving, names...)
}

// SetStarted sets the empty name to SERVING, because the server has finished starting, even if calls cannot succeed. After Leave, it
// has no effect.
func (s *Server) SetStarted() { s.setHealth(true, "") }

// Leave tells clients to use another server: all names but Liveness become NOT_SERVING and stay so. Calls are still answered.
func (s *Server) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(false, append(s.callable(), "")...)
	s.leaving = true
}

func (s *Server) setHealth(serving bool, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leaving {
		s.set(serving, names...)
	}
}

// set must be called with mu held.
func (s *Server) set(serving bool, names ...string) {
	state := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if serving {
		state = grpc_health_v1.HealthCheckResponse_SERVING
	}
	for _, name := range names {
		s.health.SetServingStatus(name, state)
	}
}

// registerHealth registers the health service. r receives the first messages of its calls.
func (s *Server) registerHealth(server *grpc.Server, r receiver) {
	own := grpc_health_v1.Health_ServiceDesc
	own.Methods = slices.Clone(own.Methods)
	for i, m := range own.Methods {
		own.Methods[i].Handler = r.of(m.Handler)
	}
	server.RegisterService(&own, s.health)
}

// callable returns the names that are SERVING while calls can succeed.
func (s *Server) callable() []string {
	return append(slices.Collect(maps.Keys(s.GetServiceInfo())), Readiness)
}

// endWatches ends health watches at a shutdown, each after its client has been sent NOT_SERVING. A shutdown waits for running
// calls, and a watch ends only if its client or the server ends it.
func (s *Server) endWatches(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if info.FullMethod != grpc_health_v1.Health_Watch_FullMethodName {
		return handler(srv, ss)
	}
	ctx, cancel := context.WithCancel(ss.Context())
	defer cancel()
	w := &watch{ServerStream: ss, ctx: ctx, end: cancel}
	defer context.AfterFunc(s.draining, w.drain)()
	return handler(srv, w)
}

type watch struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a server stream contains its context
	end context.CancelFunc

	mu       sync.Mutex
	serving  bool
	draining bool
}

func (w *watch) Context() context.Context { return w.ctx }

func (w *watch) SendMsg(m any) error {
	err := w.ServerStream.SendMsg(m)
	if resp, ok := m.(*grpc_health_v1.HealthCheckResponse); ok {
		w.update(func() { w.serving = resp.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING })
	}
	return err
}

func (w *watch) drain() { w.update(func() { w.draining = true }) }

func (w *watch) update(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	if w.draining && !w.serving {
		w.end()
	}
}
