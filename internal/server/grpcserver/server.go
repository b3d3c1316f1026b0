// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package grpcserver is the common base of krmfn's gRPC servers: accurate health, reflection, limits for messages and memory,
// recovery from panics, and a shutdown that finishes running calls within a time limit.
package grpcserver

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/krmfn/krmfn/internal/middleware"
)

const (
	// connectionAge is the age at which clients are asked to reconnect, which ends no call. Without it, all calls of a client
	// with a long-lived connection go to the same replica, and new replicas get none.
	connectionAge = 5 * time.Minute
	// minPingInterval is the minimum interval at which clients may send pings.
	minPingInterval = 10 * time.Second
	// workers is the number of goroutines that handle calls. A function pod runs half as many calls at once by default. Garbage
	// collection shrinks the stacks of idle workers.
	workers = 16
	// connectionGrace is the maximum time for calls to end after their connection's maximum age. A response that a client does
	// not read uses memory until then.
	connectionGrace = time.Hour
	// A client that sends nothing for pingInterval is pinged, and its connection is closed if it does not answer within
	// pingTimeout. Until then, the calls of a client that has disappeared use memory.
	pingInterval, pingTimeout = 30 * time.Second, 20 * time.Second
)

// Options configure a Server.
type Options struct {
	// MaxMessageSize is the maximum size of a message in bytes, in both directions.
	MaxMessageSize int
	// Drain is the maximum time that running calls may continue in a shutdown before they are cancelled.
	Drain time.Duration
	// Linger is the time for which new calls are still accepted in a shutdown, before the drain, so that clients or the Service
	// can learn of the shutdown. With 0, new calls are rejected at once.
	Linger time.Duration
	// Last reports, at the start of a shutdown, whether no other server exists or will exist that clients can use. Linger is
	// then pointless, and new calls are rejected at once. It must return when ctx ends, which is after Linger; nil means that
	// there are other servers.
	Last func(ctx context.Context) bool
	// KeepConnections is for servers that clients connect to directly. Other servers ask clients to reconnect every five
	// minutes, so that the Service distributes connections over all replicas.
	KeepConnections bool
	// Budget limits the memory of all requests until they are answered; nil means no limit. Streaming methods must reserve
	// memory themselves.
	Budget *middleware.Budget
	// Weigh returns the weight of a request in the budget, in bytes, if it exceeds the request's size. Nil means the size.
	Weigh func(request proto.Message) int64
	// Guard secures connections and authorises callers.
	Guard Guard
	// Logger logs panics and the steps of a shutdown.
	Logger *slog.Logger
	// Server has additional options. Interceptors in it must be chained.
	Server []grpc.ServerOption
}

// Server is a gRPC server. Register services before Serve.
type Server struct {
	*grpc.Server
	log    *slog.Logger
	drain  time.Duration
	linger time.Duration
	last   func(ctx context.Context) bool
	// admission is nil if there is no budget.
	admission *admission
	permit    func(ctx context.Context, method string) error
	probes    net.Listener
	// receiver receives the first messages of calls without admission, healthReceiver those of health calls.
	receiver, healthReceiver receiver
	// openStreams counts streams that may last without messages.
	openStreams openStreams

	// mu is held while health changes, so that nothing becomes SERVING after leaving is set.
	mu      sync.Mutex
	health  *health.Server
	leaving bool

	// draining ends when a shutdown begins.
	draining   context.Context //nolint:containedctx // lives as long as the server
	beginDrain context.CancelFunc
}

// New returns a server that is live but not ready; see SetServing. It uses the values of ctx and ignores its cancellation.
func New(ctx context.Context, o Options) *Server {
	s := &Server{health: health.NewServer(), log: o.Logger, drain: o.Drain, linger: o.Linger, last: o.Last}
	s.admission, s.permit, s.probes = newAdmission(o), o.Guard.Permit, o.Guard.Health
	s.receiver, s.healthReceiver = queuedReceiver(readers(o), int64(o.MaxMessageSize)), evictingReceiver(maxHealthReaders)
	s.draining, s.beginDrain = context.WithCancel(context.WithoutCancel(ctx))
	recovered := recovery.WithRecoveryHandlerContext(func(_ context.Context, p any) error {
		s.log.Error("a call panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		return status.Error(codes.Internal, "the server panicked, see its log")
	})
	pings := keepalive.ServerParameters{Time: pingInterval, Timeout: pingTimeout}
	if !o.KeepConnections {
		pings.MaxConnectionAge, pings.MaxConnectionAgeGrace = connectionAge, connectionGrace
	}
	secure := o.Guard.Credentials
	if secure == nil {
		secure = insecure.NewCredentials()
	}
	own := append(mainPort.options(secure, pings),
		grpc.MaxRecvMsgSize(o.MaxMessageSize),
		grpc.MaxSendMsgSize(o.MaxMessageSize),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
		// Workers keep their grown stacks between calls, which saves a fifth of a call's cost. If all workers are busy, gRPC
		// starts a goroutine for the call.
		grpc.NumStreamWorkers(workers),
		grpc.ChainUnaryInterceptor(recovery.UnaryServerInterceptor(recovered)),
		grpc.ChainStreamInterceptor(recovery.StreamServerInterceptor(recovered), s.endWatches, s.permitStream, s.receiveStream),
	)
	s.Server = grpc.NewServer(append(own, o.Server...)...)
	s.registerHealth(s.Server, s.healthReceiver)
	reflection.Register(s.Server)
	// mu is not needed yet.
	s.set(true, Liveness)
	s.set(false, Readiness, "")
	return s
}

// Serve serves until ctx ends, and then shuts down. It calls Leave at once. After Linger, which is skipped for the last server,
// it rejects new calls with Unavailable and gives running calls the time Drain to finish. It returns nil after a shutdown, even
// if calls were cancelled, or else the listener's error.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	started := time.AfterFunc(startTime, s.SetStarted)
	defer started.Stop()
	defer s.serveHealth()()
	stopped := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-done:
		case <-ctx.Done():
			s.shutdown(context.WithoutCancel(ctx))
		}
	}()
	err := s.Server.Serve(mainPort.limit(listener, s.log))
	close(done)
	<-stopped
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (s *Server) shutdown(ctx context.Context) {
	s.log.Info("shutting down", "new_calls_for", s.linger, "drain_within", s.drain)
	s.Leave()
	s.beginDrain()
	s.lingerForNewCalls(ctx)
	s.health.Shutdown()
	hardStop := time.AfterFunc(s.drain, func() {
		s.log.Warn("the drain time is over: cancelling running calls", "drain", s.drain)
		s.Stop()
	})
	defer hardStop.Stop()
	s.GracefulStop()
}

// lingerForNewCalls waits while new calls are still accepted.
func (s *Server) lingerForNewCalls(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.linger)
	defer cancel()
	if s.linger > 0 && s.last != nil && s.last(ctx) {
		s.log.Info("this is the last server: rejecting new calls at once")
		return
	}
	<-ctx.Done()
}
