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

// Guard secures connections and authorises callers. The zero value accepts every caller in plain text.
type Guard struct {
	// Credentials secure connections; nil means plain text.
	Credentials credentials.TransportCredentials
	// Permit authorises the caller of a method before its request is read; nil permits all callers. The error is a status
	// error. The health service is not authorised.
	Permit func(ctx context.Context, method string) error
	// Health is a listener that serves only the health service, in plain text, because gRPC probes of kubelets do not support
	// TLS; nil means none. Serve closes it.
	Health net.Listener
}

// permitted wraps the handler of a unary method. It rejects unauthorised callers before it reads the request.
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

// permitStream authorises the callers of streams, except health watches.
func (s *Server) permitStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if s.permit != nil && info.FullMethod != grpc_health_v1.Health_Watch_FullMethodName {
		if err := s.permit(stream.Context(), info.FullMethod); err != nil {
			return err
		}
	}
	return handler(srv, stream)
}

// maxHealthMessage is the maximum size in bytes of a request on the health port.
const maxHealthMessage = 4 << 10

// serveHealth serves the health service on its own port, if there is one, until stop is called. It has the same health as the
// main port, also during a shutdown.
func (s *Server) serveHealth() (stop func()) {
	if s.probes == nil {
		return func() {}
	}
	pings := keepalive.ServerParameters{
		Time: pingInterval, Timeout: pingTimeout, MaxConnectionIdle: probeIdleTime, MaxConnectionAge: connectionAge, MaxConnectionAgeGrace: probeIdleTime,
	}
	// The number of streams limits their memory, because their requests are small.
	receiver := evictingReceiver(healthPort.connections * int(healthPort.streams))
	own := grpc.NewServer(append(healthPort.options(insecure.NewCredentials(), pings),
		grpc.MaxRecvMsgSize(maxHealthMessage), grpc.StreamInterceptor(receiver.intercept))...)
	s.registerHealth(own, receiver)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := own.Serve(healthPort.limit(s.probes, s.log)); err != nil {
			s.log.Warn("the health port failed", "address", s.probes.Addr().String(), "err", err)
		}
	}()
	return func() {
		own.Stop()
		<-done
	}
}
