// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package endpoint is the function runner's connection to one function pod. It sends calls to the pod's wrapper server, and reports when
// the wrapper server answers and when it is lost.
package endpoint

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/wrapperapi"
)

const (
	// healthPause is the pause between two health checks while the server answers that it does not serve.
	healthPause = 20 * time.Millisecond
	// healthTimeout is the timeout of one health check.
	healthTimeout = 2 * time.Second
	// redialAfter is the time after which Ready fails with ErrWrongPeer if the server keeps answering with errors. A new connection may
	// reach another server.
	redialAfter = 2 * time.Second
)

// Options are the settings of an endpoint.
type Options struct {
	// MaxMessageSize is the maximum size of a message in bytes, in both directions.
	MaxMessageSize int
	// Credentials secure the connection. Nil means plain text.
	Credentials credentials.TransportCredentials
	// Dial holds additional dial options, for telemetry and tests.
	Dial []grpc.DialOption
	// Connect replaces gRPC's own connections. It must pass the headers of responses to begins. Credentials and Dial do not apply to its
	// connections. Nil means gRPC.
	Connect func(address string, begins stats.Handler) (Conn, error)
	// Advice is appended to the error when the server in the pod does not implement the wrapper server's protocol.
	Advice string
}

// Endpoint is the wrapper server of a function pod at one address. Its methods are safe for concurrent use.
type Endpoint struct {
	// Pod is the pod's name.
	Pod string

	target  wrapperapi.Target
	address string
	options Options
	// used is when a call or a health check last began, in nanoseconds since the epoch.
	used     atomic.Int64
	watchdog watchdog
}

// New returns the endpoint of a pod's wrapper server. The address is a gRPC target. The endpoint connects on demand, and its requests
// name the pod and the function that they are addressed to. The caller must close the endpoint. The endpoint uses the values of ctx, but
// outlives its cancellation.
func New(ctx context.Context, pod, address string, target wrapperapi.Target, o Options) *Endpoint {
	e := &Endpoint{Pod: pod, target: target, address: address, options: o}
	e.watchdog.init(ctx, e)
	return e
}

// ErrWrongPeer reports that the server at the pod's address is not the pod's wrapper server. The caller should close the endpoint and
// create a new one.
var ErrWrongPeer = errors.New("another server answers at the address of the function pod")

// Ready blocks until the wrapper server reports SERVING. It returns ErrWrongPeer, or the cause of ctx.
func (e *Endpoint) Ready(ctx context.Context) error {
	var wrong time.Time
	for ctx.Err() == nil {
		err := e.ask(ctx)
		switch {
		case err == nil:
			e.watchdog.clearLoss()
			return nil
		case !isWrong(err):
			wrong = time.Time{}
		case wrong.IsZero():
			wrong = time.Now()
		case time.Since(wrong) > redialAfter:
			return ErrWrongPeer
		}
		select {
		case <-ctx.Done():
		case <-time.After(healthPause):
		}
	}
	return context.Cause(ctx)
}

// errNotServing reports that the wrapper server is draining.
var errNotServing = errors.New("its wrapper server says that it does not serve")

// ask sends one health check and returns nil if the wrapper server reports SERVING.
func (e *Endpoint) ask(ctx context.Context) error {
	e.used.Store(time.Now().UnixNano())
	l, err := e.watchdog.ask()
	if err != nil {
		return err
	}
	defer e.watchdog.asked()
	l.conn.Connect()
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	var trailer metadata.MD
	resp, err := l.health.Check(e.directed(ctx), &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true), grpc.Trailer(&trailer))
	switch {
	case err == nil && resp.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING:
		e.watchdog.heard()
		return nil
	case err == nil:
		e.watchdog.heard()
		return errNotServing
	case wrapperapi.Misdirected(trailer):
		return fmt.Errorf("%w: %s", ErrWrongPeer, status.Convert(err).Message())
	}
	return err
}

// isWrong reports whether the error shows that a server other than the pod's wrapper server answered.
func isWrong(err error) bool {
	switch status.Code(err) {
	case codes.Unimplemented, codes.NotFound, codes.Internal, codes.Unknown, codes.PermissionDenied, codes.Unauthenticated:
		return !errors.Is(err, errNotServing)
	}
	return errors.Is(err, ErrWrongPeer)
}

// directed adds the metadata that names the pod and the function to a request's context.
func (e *Endpoint) directed(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, e.target.Metadata()...)
}

// Close rejects new calls, waits for the running ones, and closes the connection.
func (e *Endpoint) Close() error { return e.watchdog.close() }
