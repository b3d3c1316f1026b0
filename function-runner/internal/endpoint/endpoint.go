// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package endpoint is the function runner's connection to one function pod: it tells when the pod's wrapper server answers,
// when it has gone away, and sends calls to it.
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
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

const (
	// healthPause is between two questions to a server that answers and does not serve.
	healthPause = 20 * time.Millisecond
	// healthTimeout is how long an answer may take.
	healthTimeout = 2 * time.Second
	// redialAfter is how long a server may answer with errors before the connection is made anew: it may lead to another.
	redialAfter = 2 * time.Second
)

// Options are the same for all endpoints.
type Options struct {
	// MaxMessageSize is the most bytes of one message, in both directions.
	MaxMessageSize int
	// Credentials secure the connection; nil for plain text.
	Credentials credentials.TransportCredentials
	// Dial has further options, for telemetry and tests.
	Dial []grpc.DialOption
	// Advice says what to do if the server in the pod does not speak the wrapper's protocol.
	Advice string
}

// Endpoint is where one function pod is reached. It may be used by any number of goroutines at once.
type Endpoint struct {
	// Pod is the pod's name.
	Pod string

	target  wrapperapi.Target
	address string
	options Options
	// used is when a call, or a question for its health, last began, in nanoseconds since the epoch.
	used     atomic.Int64
	watchdog watchdog
}

// New returns the endpoint of a pod's wrapper server at an address, a gRPC target. A connection is made when one is needed. All
// requests name the pod and the function that they are meant for. The caller closes the endpoint; of ctx, the values are kept.
func New(ctx context.Context, pod, address string, target wrapperapi.Target, o Options) *Endpoint {
	e := &Endpoint{Pod: pod, target: target, address: address, options: o}
	e.watchdog.init(ctx, e)
	return e
}

// ErrWrongPeer says that a server answers which is not the wrapper server of the pod: close the endpoint and dial again.
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

// errNotServing is the answer of a wrapper server that drains.
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

// isWrong tells whether a server has answered, and not as a wrapper server does.
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
