// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

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
