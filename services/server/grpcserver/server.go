// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package grpcserver is what all gRPC servers of krmfn have in common: health that tells the truth, reflection, one
// message limit in both directions, a panic that ends one call only, and a shutdown that finishes running calls within a
// bounded time.
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

	"github.com/krmfn/krmfn/services/evaluation"
)

const (
	// connectionAge is when a client is asked to connect anew, which ends no call: otherwise all calls of a client that keeps
	// its connection go to one replica for ever, and none to a new one.
	connectionAge = 5 * time.Minute
	// minPingInterval is how often clients may ask for a sign of life.
	minPingInterval = 10 * time.Second
	// workers is how many goroutines wait for calls. A function pod runs half as many calls at once by default. Workers that wait have
	// small stacks after a garbage collection.
	workers = 16
	// connectionGrace is the maximum time that calls may keep a connection beyond its age. An answer that its client does not read takes
	// memory until then.
	connectionGrace = time.Hour
	// pingInterval is how long a client may be silent before it is asked for a sign of life, and pingTimeout how long it may take to
	// give one: the calls of a client that has gone hold memory until then.
	pingInterval, pingTimeout = 30 * time.Second, 20 * time.Second
)

// Options are what servers differ in.
type Options struct {
	// MaxMessageSize is the most bytes of one message, in both directions.
	MaxMessageSize int
	// Drain is how long running calls may take to finish at shutdown. Then they are cut off.
	Drain time.Duration
	// Linger is how long new calls are still answered in a shutdown, before the drain: until the clients, or the Service before
	// this, have learnt that there is one. 0 refuses them at once.
	Linger time.Duration
	// Last tells, at the beginning of a shutdown, whether clients have no other server to go to and get none. Then there is no use in
	// Linger: new calls are refused at once. It must return when ctx ends, which is when Linger is over; nil means that they have.
	Last func(ctx context.Context) bool
	// KeepConnections is for a server that clients reach directly. Others ask their clients to connect anew every five minutes,
	// so that the Service before them spreads them over all replicas.
	KeepConnections bool
	// Budget is shared by the requests of all calls until they are answered; nil admits all calls at once. Streaming methods
	// take their parts of it by themselves.
	Budget *evaluation.Budget
	// Weigh returns what a request counts for in the budget where that is more than its size, in bytes; nil for never.
	Weigh func(request proto.Message) int64
	// Guard is how connections are secured, and who may call.
	Guard Guard
	// Logger gets one line for each panic and for the steps of a shutdown.
	Logger *slog.Logger
	// Server has further options of the server. Interceptors must be chained ones.
	Server []grpc.ServerOption
}

// Server is a gRPC server. Services are registered on it before Serve.
type Server struct {
	*grpc.Server
	log    *slog.Logger
	drain  time.Duration
	linger time.Duration
	last   func(ctx context.Context) bool
	// admission is nil where calls need none.
	admission *admission
	permit    func(ctx context.Context, method string) error
	probes    net.Listener
	// receiver receives the first messages of calls that admission does not, healthReceiver those of health.
	receiver, healthReceiver receiver
	// lasting has the places of streams that may last without a message.
	lasting lasting

	// mu is held while health changes, so that nothing is SERVING again once leaving is true.
	mu      sync.Mutex
	health  *health.Server
	leaving bool

	// draining ends when a shutdown begins.
	draining   context.Context //nolint:containedctx // the life of the server, not of a call
	beginDrain context.CancelFunc
}

// New returns a server that is alive, and not ready until SetServing. Values of ctx are kept, its end is not heeded.
func New(ctx context.Context, o Options) *Server {
	s := &Server{health: health.NewServer(), log: o.Logger, drain: o.Drain, linger: o.Linger, last: o.Last}
	s.admission, s.permit, s.probes = newAdmission(o), o.Guard.Permit, o.Guard.Health
	s.receiver, s.healthReceiver = inTurn(readers(o), int64(o.MaxMessageSize)), newest(maxHealthReaders)
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
		// Workers keep their grown stacks from call to call, which saves a fifth of what a call costs. When all are busy, a
		// call gets a goroutine of its own.
		grpc.NumStreamWorkers(workers),
		grpc.ChainUnaryInterceptor(recovery.UnaryServerInterceptor(recovered)),
		grpc.ChainStreamInterceptor(recovery.StreamServerInterceptor(recovered), s.endWatches, s.permitStream, s.receiveStream),
	)
	s.Server = grpc.NewServer(append(own, o.Server...)...)
	s.registerHealth(s.Server, s.healthReceiver)
	reflection.Register(s.Server)
	// Nobody else has it yet.
	s.set(true, Liveness)
	s.set(false, Readiness, "")
	return s
}

// Serve answers calls until ctx ends. Then it leaves at once; once the linger time is over, which it is at once for the last server,
// new calls are refused as Unavailable, and running ones have the drain time to finish. It returns nil after a shutdown, however it
// went, and the listener's error when it cannot serve at all.
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
	s.answerLatecomers(ctx)
	s.health.Shutdown()
	hardStop := time.AfterFunc(s.drain, func() {
		s.log.Warn("the drain time is over, running calls are cut off", "drain", s.drain)
		s.Stop()
	})
	defer hardStop.Stop()
	s.GracefulStop()
}

// answerLatecomers waits while new calls are still answered.
func (s *Server) answerLatecomers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.linger)
	defer cancel()
	if s.linger > 0 && s.last != nil && s.last(ctx) {
		s.log.Info("clients have no other server to go to, new calls are refused at once")
		return
	}
	<-ctx.Done()
}
