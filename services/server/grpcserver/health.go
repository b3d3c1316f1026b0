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

// Service names that probes ask grpc.health.v1 for. The name of each registered service has the health of Readiness.
//
// Probes that were written for Porch name no service, for liveness and readiness alike. The empty name is therefore
// NOT_SERVING only where that serves both: until the server can answer its first call, but no longer than startTime, as a rollout
// must wait for that, while a restart mends no missing runtime; and from the first moment of a shutdown, as the kubelet no
// longer probes the liveness of a pod that ends.
const (
	// Liveness is SERVING until the server takes no more calls, whatever becomes of them.
	Liveness = "liveness"
	// Readiness is SERVING while calls can succeed.
	Readiness = "readiness"
)

// startTime is how long the empty name waits for a server that cannot answer calls yet. It must be less than what a liveness
// probe puts up with, which is 50 s by Porch's documentation.
const startTime = 20 * time.Second

// SetServing tells clients whether calls can succeed: the health of Readiness, of each service registered by then, and the
// first time that they can, of the empty name. After Leave it has no effect.
func (s *Server) SetServing(serving bool) {
	names := s.callable()
	if serving {
		names = append(names, "")
	}
	s.setHealth(serving, names...)
}

// SetStarted says that nothing has to be waited for before the first call, whether calls can succeed or not: the health of the
// empty name. After Leave it has no effect.
func (s *Server) SetStarted() { s.setHealth(true, "") }

// Leave tells clients to go elsewhere: from now on, all but Liveness is NOT_SERVING. Calls are still answered.
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

// set is called with mu held.
func (s *Server) set(serving bool, names ...string) {
	state := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if serving {
		state = grpc_health_v1.HealthCheckResponse_SERVING
	}
	for _, name := range names {
		s.health.SetServingStatus(name, state)
	}
}

// registerHealth has a server answer for health. The first messages of its calls are received by r.
func (s *Server) registerHealth(server *grpc.Server, r receiver) {
	own := grpc_health_v1.Health_ServiceDesc
	own.Methods = slices.Clone(own.Methods)
	for i, m := range own.Methods {
		own.Methods[i].Handler = r.of(m.Handler)
	}
	server.RegisterService(&own, s.health)
}

// callable returns the names that are healthy while calls can succeed.
func (s *Server) callable() []string {
	return append(slices.Collect(maps.Keys(s.GetServiceInfo())), Readiness)
}

// endWatches ends the health watches at a shutdown, each after its client has been told that the server no longer serves.
// A shutdown waits for running calls, and a watch would run for ever.
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
	ctx context.Context //nolint:containedctx // a server stream has its context inside
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
