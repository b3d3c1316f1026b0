// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/internal/wrapperapi"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
)

// idleTime is the time after which an unused connection becomes idle, as in package endpoint. keepalive is the time in which gRPC's
// keepalive detects the loss of the other side.
const (
	idleTime  = time.Minute
	keepalive = 20 * time.Second
)

// network connects replicas to wrapper servers without sockets and HTTP/2 frames, so that a connection takes only a few hundred bytes.
type network struct {
	mu      sync.Mutex
	servers map[string]*server
}

func (n *network) at(address string) *server {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.servers[address]
}

func (n *network) listen(address string, s *server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers[address] = s
}

func (n *network) close(address string) {
	n.mu.Lock()
	s := n.servers[address]
	delete(n.servers, address)
	n.mu.Unlock()
	if s != nil {
		s.breakConnections()
	}
}

// connect implements endpoint.Options.Connect.
func (n *network) connect(address string, begins stats.Handler) (endpoint.Conn, error) {
	return &conn{network: n, address: address, begins: begins, state: connectivity.Idle, changed: make(chan struct{}), closed: make(chan struct{})}, nil
}

// conn is a connection to the server at an address. It implements endpoint.Conn.
type conn struct {
	network *network
	address string
	begins  stats.Handler
	closed  chan struct{}

	mu    sync.Mutex
	state connectivity.State
	// changed is closed when the state changes.
	changed chan struct{}
	server  *server
	// used is when a request last began or ended. requests is the number of requests in flight.
	used     time.Time
	requests int
	idle     *time.Timer
}

// set changes the state. The caller must hold the lock.
func (c *conn) set(state connectivity.State) {
	if c.state != state && c.state != connectivity.Shutdown {
		c.state = state
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// Connect connects if a server listens at the address.
func (c *conn) Connect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == connectivity.Ready || c.state == connectivity.Shutdown {
		return
	}
	s := c.network.at(c.address)
	if s == nil || !s.accept(c) {
		c.set(connectivity.TransientFailure)
		return
	}
	c.server, c.used = s, time.Now()
	c.set(connectivity.Ready)
	if c.idle == nil {
		c.idle = time.AfterFunc(idleTime, c.rest)
	} else {
		c.idle.Reset(idleTime)
	}
}

// rest closes the connection to the server after idleTime without requests.
func (c *conn) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if left := idleTime - time.Since(c.used); c.requests > 0 || left > 0 {
		c.idle.Reset(max(left, time.Second))
		return
	}
	c.leave(connectivity.Idle)
}

// leave disconnects from the server. The caller must hold the lock.
func (c *conn) leave(state connectivity.State) {
	if c.server != nil {
		c.server.forget(c)
		c.server = nil
	}
	c.set(state)
}

// broken disconnects from a lost server.
func (c *conn) broken() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(connectivity.TransientFailure)
}

// GetState implements endpoint.Conn.
func (c *conn) GetState() connectivity.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// WaitForStateChange implements endpoint.Conn.
func (c *conn) WaitForStateChange(ctx context.Context, from connectivity.State) bool {
	c.mu.Lock()
	state, changed := c.state, c.changed
	c.mu.Unlock()
	if state != from {
		return true
	}
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}

// Close closes the connection, which fails waiting requests.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != connectivity.Shutdown {
		c.leave(connectivity.Shutdown)
		close(c.closed)
		if c.idle != nil {
			c.idle.Stop()
		}
	}
	return nil
}

// begin returns the server for a request, and waits for it if wait is true.
func (c *conn) begin(ctx context.Context, wait bool) (*server, error) {
	for {
		c.Connect()
		c.mu.Lock()
		if s := c.server; s != nil {
			c.used = time.Now()
			c.requests++
			c.mu.Unlock()
			return s, nil
		}
		c.mu.Unlock()
		if !wait {
			return nil, status.Error(codes.Unavailable, "connection refused")
		}
		select {
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		case <-c.closed:
			return nil, status.Error(codes.Canceled, "the connection is closing")
		case <-time.After(40 * time.Millisecond):
		}
	}
}

func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = time.Now()
	c.requests--
}

// Invoke implements grpc.ClientConnInterface.
func (c *conn) Invoke(ctx context.Context, _ string, _, reply any, options ...grpc.CallOption) error {
	wait := false
	var trailer *metadata.MD
	for _, option := range options {
		switch o := option.(type) {
		case grpc.FailFastCallOption:
			wait = !o.FailFast
		case grpc.TrailerCallOption:
			trailer = o.TrailerAddr
		}
	}
	s, err := c.begin(ctx, wait)
	if err != nil {
		return err
	}
	defer c.end()
	if err := s.reach(ctx); err != nil {
		return err
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	if !s.target.Matches(wrapperapi.TargetOf(md)) {
		*trailer = wrapperapi.Misdirection()
		return status.Error(codes.Unavailable, "meant for another pod")
	}
	switch reply := reply.(type) {
	case *grpc_health_v1.HealthCheckResponse:
		reply.Status = s.health()
	case *wrapperv1.EvaluateResponse:
		*trailer, err = s.evaluate(ctx, func(header metadata.MD) { c.begins.HandleRPC(ctx, &stats.InHeader{Client: true, Header: header}) })
		return err
	}
	return nil
}

// NewStream implements grpc.ClientConnInterface. It is unused.
func (c *conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}
