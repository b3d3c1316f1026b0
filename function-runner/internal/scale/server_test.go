// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/wrapperapi"
)

const (
	// evaluationTime is the mean duration of a function run.
	evaluationTime = 20 * time.Millisecond
	// concurrency is the maximum number of running calls in a wrapper server. room is the maximum number of running and waiting calls.
	concurrency, room = 8, 64
)

// server is the wrapper server of a pod.
type server struct {
	target wrapperapi.Target
	node   *node
	slots  chan struct{}

	mu          sync.Mutex
	connections map[*conn]struct{}
	draining    bool
	// calls is the number of running and waiting calls. none is closed when a draining server has no calls.
	calls int
	none  chan struct{}
}

func newServer(target wrapperapi.Target, n *node) *server {
	return &server{target: target, node: n, slots: make(chan struct{}, concurrency), connections: map[*conn]struct{}{}, none: make(chan struct{})}
}

// accept adds a connection. It returns false if the node is lost.
func (s *server) accept(c *conn) bool {
	if s.node.isLost() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections[c] = struct{}{}
	return true
}

func (s *server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, c)
}

func (s *server) breakConnections() {
	s.mu.Lock()
	var all []*conn
	for c := range s.connections {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.broken()
	}
}

// reach blocks until ctx ends if the node is lost.
func (s *server) reach(ctx context.Context) error {
	if !s.node.isLost() {
		return nil
	}
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

func (s *server) health() grpc_health_v1.HealthCheckResponse_ServingStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	return grpc_health_v1.HealthCheckResponse_SERVING
}

// evaluate runs a call and returns the trailer.
func (s *server) evaluate(ctx context.Context, header func(metadata.MD)) (metadata.MD, error) {
	s.mu.Lock()
	switch {
	case s.draining:
		s.mu.Unlock()
		return wrapperapi.Refusal(), status.Error(codes.Unavailable, "draining")
	case s.calls == room:
		s.mu.Unlock()
		return wrapperapi.NoRoom(), status.Error(codes.Unavailable, "busy")
	}
	s.calls++
	load := wrapperapi.Load{Running: s.calls}
	s.mu.Unlock()
	err := s.run(ctx, func() { header(metadata.Join(wrapperapi.Begun(), load.Metadata())) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	if s.draining && s.calls == 0 {
		close(s.none)
	}
	return wrapperapi.Load{Running: s.calls}.Metadata(), err
}

func (s *server) run(ctx context.Context, begun func()) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	defer func() { <-s.slots }()
	begun()
	select {
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-s.node.lost:
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	case <-time.After(time.Duration(rand.ExpFloat64() * float64(evaluationTime))):
		return nil
	}
}

// drain rejects new calls and waits for the others.
func (s *server) drain() {
	s.mu.Lock()
	s.draining = true
	if s.calls == 0 {
		close(s.none)
	}
	s.mu.Unlock()
	<-s.none
}
