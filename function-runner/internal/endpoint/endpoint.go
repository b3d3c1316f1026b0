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

	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

const (
	// healthPause is the time between two health checks of a server that answers and does not serve.
	healthPause = 20 * time.Millisecond
	// healthTimeout is how long the answer to a health check may take.
	healthTimeout = 2 * time.Second
	// redialAfter is how long a server may answer with errors before a new connection is made: this one may lead to another server.
	redialAfter = 2 * time.Second
)

// Options are the settings of an endpoint.
type Options struct {
	// MaxMessageSize is the maximum size of a message in bytes, in both directions.
	MaxMessageSize int
	// Credentials secure the connection; nil for plain text.
	Credentials credentials.TransportCredentials
	// Dial are further dial options, for telemetry and tests.
	Dial []grpc.DialOption
	// Connect makes the connection to an address in the place of gRPC's own, without Credentials and Dial; nil for gRPC's. Its begins
	// is told the headers of answers.
	Connect func(address string, begins stats.Handler) (Conn, error)
	// Advice says what to do if the server in the pod does not implement the wrapper server's protocol.
	Advice string
}

// Endpoint is a function pod's wrapper server at one address. Its methods may be used concurrently.
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

// New returns the endpoint of a pod's wrapper server at an address, a gRPC target. It connects when a request needs it. All requests name
// the pod and the function that they are meant for. The caller closes the endpoint. New keeps the values of ctx, not its end.
func New(ctx context.Context, pod, address string, target wrapperapi.Target, o Options) *Endpoint {
	e := &Endpoint{Pod: pod, target: target, address: address, options: o}
	e.watchdog.init(ctx, e)
	return e
}

// ErrWrongPeer reports that a server answers which is not the wrapper server of the pod. Close the endpoint and connect again.
var ErrWrongPeer = errors.New("another server answers at the address of the function pod")

// Ready returns when the wrapper server says that it serves. Errors: ErrWrongPeer, and ctx's cause.
func (e *Endpoint) Ready(ctx context.Context) error {
	var wrong time.Time
	for ctx.Err() == nil {
		err := e.ask(ctx)
		switch {
		case err == nil:
			e.watchdog.forgive()
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

// errNotServing reports that the wrapper server drains.
var errNotServing = errors.New("its wrapper server says that it does not serve")

// ask returns nil if the wrapper server says that it serves.
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

// isWrong reports whether a server has answered in a way that the wrapper server of the pod does not.
func isWrong(err error) bool {
	switch status.Code(err) {
	case codes.Unimplemented, codes.NotFound, codes.Internal, codes.Unknown, codes.PermissionDenied, codes.Unauthenticated:
		return !errors.Is(err, errNotServing)
	}
	return errors.Is(err, ErrWrongPeer)
}

// directed returns a context whose requests name the pod and the function that they are meant for.
func (e *Endpoint) directed(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, e.target.Metadata()...)
}

// Close waits for the calls that run, and closes the connection. New calls are not run.
func (e *Endpoint) Close() error { return e.watchdog.close() }
