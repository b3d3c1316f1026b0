// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package endpoint is the function runner's connection to one function pod: it tells when the pod's wrapper server answers,
// when it has gone away, and sends calls to it.
package endpoint

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

// reconnect tries again soon: between the moment in which a pod gets its address and the one in which its wrapper server
// listens lies up to a second, and a caller waits for what is left of the last pause.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1.2, Jitter: 0.1, MaxDelay: 40 * time.Millisecond},
	MinConnectTimeout: time.Second,
}

const (
	// keepaliveTime and keepaliveTimeout find out that a node has gone, which sends no word of it.
	keepaliveTime    = 15 * time.Second
	keepaliveTimeout = 5 * time.Second
	// idleTime is how long a pod keeps its connection after its last call. A new one takes a fraction of a millisecond.
	idleTime = time.Minute
	// bufferSize holds the frames of a small message. Larger ones are read without it.
	bufferSize = 4 << 10
	// healthPause is between two questions to a server that answers and does not serve.
	healthPause = 20 * time.Millisecond
	// healthTimeout is how long an answer may take.
	healthTimeout = 2 * time.Second
)

// Options are the same for all endpoints.
type Options struct {
	// MaxMessageSize is the most bytes of one message, in both directions.
	MaxMessageSize int
	// Dial has further options, for telemetry and tests.
	Dial []grpc.DialOption
}

// Endpoint is a connection to one function pod. It may be used by any number of goroutines at once.
type Endpoint struct {
	// Pod is the pod's name.
	Pod string

	conn   *grpc.ClientConn
	client wrapperv1grpc.FunctionServiceClient
	health grpc_health_v1.HealthClient
	// calls is held for reading by each call, and guards closed.
	calls  sync.RWMutex
	closed bool
	// used is when a call, or a question for its health, last began, in nanoseconds since the epoch.
	used atomic.Int64
}

// Dial returns the connection to a pod's wrapper server at a gRPC target, which it begins to make. The caller closes it.
func Dial(pod, target string, o Options) (*Endpoint, error) {
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(reconnect),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout, PermitWithoutStream: true}),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(o.MaxMessageSize), grpc.MaxCallRecvMsgSize(o.MaxMessageSize)),
		// Pods are inside the cluster, whatever proxy leads out of it.
		grpc.WithNoProxy(),
		grpc.WithIdleTimeout(idleTime),
		grpc.WithDisableServiceConfig(),
		// Of many connections, few are busy.
		grpc.WithReadBufferSize(bufferSize),
	}, o.Dial...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to function pod %s at %s: %w", pod, target, err)
	}
	conn.Connect()
	return &Endpoint{
		Pod: pod, conn: conn,
		client: wrapperv1grpc.NewFunctionServiceClient(conn), health: grpc_health_v1.NewHealthClient(conn),
	}, nil
}

// Ready returns when the wrapper server says that it serves. The error is that ctx has ended.
func (e *Endpoint) Ready(ctx context.Context) error {
	for ctx.Err() == nil {
		if e.serves(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(healthPause):
		}
	}
	return context.Cause(ctx)
}

func (e *Endpoint) serves(ctx context.Context) bool {
	e.used.Store(time.Now().UnixNano())
	e.conn.Connect()
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	resp, err := e.health.Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
	return err == nil && resp.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING
}

// Lost returns when the wrapper server cannot be reached any more. A connection that ends is made again first: servers
// ask for that from time to time. That of a pod without calls rests until the next one, which finds out. The error is that
// ctx has ended.
func (e *Endpoint) Lost(ctx context.Context) error {
	for {
		state := e.conn.GetState()
		switch state {
		case connectivity.TransientFailure, connectivity.Shutdown:
			return nil
		case connectivity.Idle:
			if time.Since(time.Unix(0, e.used.Load())) < idleTime {
				e.conn.Connect()
			}
		}
		if !e.conn.WaitForStateChange(ctx, state) {
			return context.Cause(ctx)
		}
	}
}

// Close waits for the calls that run, and closes the connection. New calls are not run.
func (e *Endpoint) Close() error {
	e.calls.Lock()
	defer e.calls.Unlock()
	e.closed = true
	return e.conn.Close()
}

// NotRunError says that the pod has not begun with a call, which may be sent to another.
type NotRunError struct {
	// Pod is the pod's name, Message why.
	Pod, Message string
}

func (e *NotRunError) Error() string {
	return fmt.Sprintf("function pod %s does not take the call: %s", e.Pod, e.Message)
}

// GRPCStatus has callers told that they may try again.
func (e *NotRunError) GRPCStatus() *status.Status { return status.New(codes.Unavailable, e.Error()) }

// LostError says that the connection ended while the pod ran a call. What came of it is not known.
type LostError struct {
	// Pod is the pod's name, Message what is known.
	Pod, Message string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("function pod %s went away while it ran the function: %s", e.Pod, e.Message)
}

// GRPCStatus has callers told that they may try again, if the function may run twice.
func (e *LostError) GRPCStatus() *status.Status { return status.New(codes.Unavailable, e.Error()) }

// Evaluate sends a call to the pod. Errors: *NotRunError, *LostError, ctx's cause, and whatever other status the wrapper
// server answers with.
func (e *Endpoint) Evaluate(ctx context.Context, image string, list []byte) (evaluation.Response, error) {
	// A pod that is being left has the lock asked for by Close.
	if !e.calls.TryRLock() {
		return evaluation.Response{}, &NotRunError{Pod: e.Pod, Message: "it is being left"}
	}
	defer e.calls.RUnlock()
	if e.closed {
		return evaluation.Response{}, &NotRunError{Pod: e.Pod, Message: "it has been left"}
	}
	e.used.Store(time.Now().UnixNano())
	var header, trailer metadata.MD
	resp, err := e.client.Evaluate(ctx, &wrapperv1.EvaluateRequest{ResourceList: list, Image: image}, grpc.Header(&header), grpc.Trailer(&trailer))
	if err == nil {
		return evaluation.Response{ResourceList: resp.GetResourceList(), Report: resp.GetEvaluation()}, nil
	}
	if ctx.Err() != nil {
		return evaluation.Response{}, context.Cause(ctx)
	}
	st := status.Convert(err)
	switch {
	case wrapperapi.Refused(trailer) || st.Code() == codes.Unavailable && !wrapperapi.HasBegun(header):
		return evaluation.Response{}, &NotRunError{Pod: e.Pod, Message: st.Message()}
	case st.Code() == codes.Unavailable || st.Code() == codes.Canceled:
		return evaluation.Response{}, &LostError{Pod: e.Pod, Message: st.Message()}
	}
	return evaluation.Response{}, fmt.Errorf("function pod %s: %w", e.Pod, err)
}
