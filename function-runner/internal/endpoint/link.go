// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/stats"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
)

// reconnect uses short backoffs, because a wrapper server starts to listen up to a second after its pod gets an address, and the calls
// wait for the last backoff to end.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.2, Jitter: 0.1, MaxDelay: 40 * time.Millisecond},
	MinConnectTimeout: time.Second,
}

const (
	// keepaliveTime and keepaliveTimeout configure the keepalive pings that detect the loss of an idle pod's node. The watchdog detects
	// the loss of a pod with calls sooner.
	keepaliveTime    = 15 * time.Second
	keepaliveTimeout = 5 * time.Second
	// idleTime is the time after which an unused connection is closed. Opening a new one takes less than a millisecond.
	idleTime = time.Minute
	// streamWindow and connectionWindow are the flow control windows for responses, in bytes. Fixed windows keep gRPC from sending
	// bandwidth probes, which wake both sides. The client reads responses as they arrive, so large windows use no extra memory.
	streamWindow     = 1 << 20
	connectionWindow = 16 << 20
)

// Conn is a connection to a gRPC server, such as *grpc.ClientConn.
type Conn interface {
	grpc.ClientConnInterface
	Connect()
	GetState() connectivity.State
	WaitForStateChange(ctx context.Context, from connectivity.State) bool
	Close() error
}

// link is a connection to the wrapper server. The endpoint closes it after idleTime without calls, because a gRPC connection takes more
// memory than the rest of an idle pool.
type link struct {
	conn   Conn
	client wrapperv1grpc.FunctionServiceClient
	health grpc_health_v1.HealthClient
}

func (e *Endpoint) dial() (*link, error) {
	connect := e.options.Connect
	if connect == nil {
		connect = e.connect
	}
	conn, err := connect(e.address, begins{})
	if err != nil {
		return nil, fmt.Errorf("connect to function pod %s at %s: %w", e.Pod, e.address, err)
	}
	return &link{conn, wrapperv1grpc.NewFunctionServiceClient(conn), grpc_health_v1.NewHealthClient(conn)}, nil
}

func (e *Endpoint) connect(address string, begins stats.Handler) (Conn, error) {
	secure := e.options.Credentials
	if secure == nil {
		secure = insecure.NewCredentials()
	}
	return grpc.NewClient(address, append([]grpc.DialOption{
		grpc.WithTransportCredentials(secure),
		grpc.WithConnectParams(reconnect),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true}),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(e.options.MaxMessageSize), grpc.MaxCallRecvMsgSize(e.options.MaxMessageSize)),
		// Pods are inside the cluster, so that proxy settings do not apply.
		grpc.WithNoProxy(),
		grpc.WithIdleTimeout(idleTime),
		grpc.WithDisableServiceConfig(),
		grpc.WithStaticStreamWindowSize(streamWindow), grpc.WithStaticConnWindowSize(connectionWindow),
		grpc.WithStatsHandler(begins),
	}, e.options.Dial...)...)
}

// errLeft reports that the endpoint was closed.
var errLeft = errors.New("the function runner has left it")

// connection returns the connection, and opens one if there is none. The caller must hold the lock.
func (w *watchdog) connection() (*link, error) {
	switch {
	case w.closed:
		return nil, errLeft
	case w.link != nil:
		return w.link, nil
	}
	l, err := w.e.dial()
	if err != nil {
		return nil, err
	}
	w.link = l
	w.notify()
	return l, nil
}

// ask begins a health check and returns the connection for it. The caller must call asked afterwards.
func (w *watchdog) ask() (*link, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, err := w.connection()
	if err == nil {
		w.asks++
	}
	return l, err
}

func (w *watchdog) asked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks--
}

// closeIdle closes the connection if no request uses it, and reports whether it did.
func (w *watchdog) closeIdle(l *link) bool {
	w.mu.Lock()
	if w.link != l || len(w.flights) > 0 || w.asks > 0 {
		w.mu.Unlock()
		return false
	}
	w.link = nil
	w.mu.Unlock()
	_ = l.conn.Close() // nothing is lost with it
	return true
}

// errBroken reports that the connection failed.
var errBroken = errors.New("the connection to its wrapper server broke")

// Lost blocks until the pod must prove again that it serves: the pod is suspect, does not respond to calls, or is unreachable. While the
// endpoint is in use, Lost reopens a connection that ended. When the endpoint is idle, it closes the connection until the next call. It
// returns nil when ctx ends. Only one goroutine may call Lost at a time.
func (e *Endpoint) Lost(ctx context.Context) *Loss {
	var l *link
	for ctx.Err() == nil {
		var loss *Loss
		if l == nil {
			loss, l = e.awaitConnection(ctx)
		} else {
			loss, l = e.follow(ctx, l)
		}
		if loss != nil {
			return loss
		}
	}
	return nil
}

// awaitConnection waits for a connection or a loss while the endpoint has no connection.
func (e *Endpoint) awaitConnection(ctx context.Context) (*Loss, *link) {
	news := make(chan struct{})
	if loss, l := e.watchdog.listen(func() { close(news) }); loss != nil || l != nil {
		return loss, l
	}
	select {
	case <-ctx.Done():
	case <-news:
	}
	return e.watchdog.listen(nil)
}

// follow waits for a state change of the connection.
func (e *Endpoint) follow(ctx context.Context, l *link) (*Loss, *link) {
	ctx, wake := context.WithCancel(ctx)
	defer wake()
	if loss, now := e.watchdog.listen(wake); loss != nil || now != l {
		return loss, now
	}
	state := l.conn.GetState()
	switch state {
	case connectivity.TransientFailure, connectivity.Shutdown:
		return &Loss{Reason: errBroken}, nil
	case connectivity.Idle:
		if time.Since(time.Unix(0, e.used.Load())) < idleTime {
			l.conn.Connect()
		} else if e.watchdog.closeIdle(l) {
			return nil, nil
		}
	}
	l.conn.WaitForStateChange(ctx, state)
	return e.watchdog.listen(nil)
}

// listen sets the function that the next change calls once, and returns the current loss and connection.
func (w *watchdog) listen(wake func()) (*Loss, *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wake = wake
	return w.loss, w.link
}

// notify wakes Lost after a change. The caller must hold the lock.
func (w *watchdog) notify() {
	if w.wake != nil {
		w.wake()
		w.wake = nil
	}
}
