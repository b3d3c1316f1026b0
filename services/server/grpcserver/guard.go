// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

// Guard is how connections are secured, and who may call. The zero value lets everybody call in plain text.
type Guard struct {
	// Credentials secure connections; nil for plain text.
	Credentials credentials.TransportCredentials
	// Permit tells whether the caller of a method may call it, before its request is read; nil permits all. The error is a status.
	// Health is for everybody who can connect.
	Permit func(ctx context.Context, method string) error
	// Health answers for health, and nothing else, in plain text, because a kubelet speaks no TLS; nil for nowhere. Serve closes it.
	Health net.Listener
}

// permitted handles the calls of a unary method whose callers may call it. Others are refused before their request is read.
func (s *Server) permitted(handle grpc.MethodHandler, method string) grpc.MethodHandler {
	return func(impl any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		return handle(impl, ctx, func(request any) error {
			if err := s.permit(ctx, method); err != nil {
				return err
			}
			return decode(request)
		}, interceptor)
	}
}

// permitStream does for streams what permitted does for unary calls. Whoever may ask for health may watch it.
func (s *Server) permitStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if s.permit != nil && info.FullMethod != grpc_health_v1.Health_Watch_FullMethodName {
		if err := s.permit(stream.Context(), info.FullMethod); err != nil {
			return err
		}
	}
	return handler(srv, stream)
}

// maxHealthMessage is the most bytes of a request for health on its own port.
const maxHealthMessage = 4 << 10

// serveHealth answers for health on a port of its own, if there is one, until stop is called. It answers as the main port does, and
// for as long as running calls may take in a shutdown.
func (s *Server) serveHealth() (stop func()) {
	if s.probes == nil {
		return func() {}
	}
	pings := keepalive.ServerParameters{
		Time: pingInterval, Timeout: pingTimeout, MaxConnectionIdle: probeIdleTime, MaxConnectionAge: connectionAge, MaxConnectionAgeGrace: probeIdleTime,
	}
	// Their small requests count by the number of streams.
	receiver := newest(healthPort.connections * int(healthPort.streams))
	own := grpc.NewServer(append(healthPort.options(insecure.NewCredentials(), pings),
		grpc.MaxRecvMsgSize(maxHealthMessage), grpc.StreamInterceptor(receiver.intercept))...)
	s.registerHealth(own, receiver)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := own.Serve(healthPort.limit(s.probes, s.log)); err != nil {
			s.log.Warn("health is no longer answered on its own port", "address", s.probes.Addr().String(), "err", err)
		}
	}()
	return func() {
		own.Stop()
		<-done
	}
}
