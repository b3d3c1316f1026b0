// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/wrapperapi"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
)

func wantLoad(t *testing.T, md metadata.MD, want wrapperapi.Load) {
	t.Helper()
	if got, ok := wrapperapi.LoadOf(md); !ok || got != want {
		t.Errorf("LoadOf() = %+v, %v, want %+v", got, ok, want)
	}
}

// requests returns calls of all services that check the target.
func requests(conn *grpc.ClientConn) map[string]func(context.Context, *metadata.MD) error {
	return map[string]func(context.Context, *metadata.MD) error{
		"FunctionEvaluator": func(ctx context.Context, trailer *metadata.MD) error {
			_, err := evaluatorgrpc.NewFunctionEvaluatorClient(conn).EvaluateFunction(ctx,
				&evaluator.EvaluateFunctionRequest{ResourceList: []byte(list)}, grpc.Trailer(trailer))
			return err
		},
		"FunctionService": func(ctx context.Context, trailer *metadata.MD) error {
			_, err := wrapperv1grpc.NewFunctionServiceClient(conn).Evaluate(ctx, &wrapperv1.EvaluateRequest{ResourceList: []byte(list)}, grpc.Trailer(trailer))
			return err
		},
		"health": func(ctx context.Context, trailer *metadata.MD) error {
			_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.Trailer(trailer))
			return err
		},
		"health watch": func(ctx context.Context, trailer *metadata.MD) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			watch, err := grpc_health_v1.NewHealthClient(conn).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
			if err != nil {
				return err
			}
			if _, err = watch.Recv(); err != nil {
				*trailer = watch.Trailer()
				return err
			}
			*trailer = wrapperapi.Load{}.Metadata() // a running stream has no trailer yet
			return nil
		},
	}
}

// Pods' IP addresses are reused. A request for another pod is rejected before the function runs.
func TestTarget(t *testing.T) {
	t.Parallel()
	const own = "r.io/fn:v1@sha256:a"
	h := run(t, []string{"KRMFN_POD_UID=uid-1", "KRMFN_FUNCTION=" + own}, io.Discard, `test -z "$KRMFN_POD_UID$KRMFN_FUNCTION" && cat`)
	t.Cleanup(func() { h.end(t) })
	for name, call := range requests(h.conn) {
		for _, meant := range []wrapperapi.Target{
			{PodUID: "uid-2", Function: own}, {PodUID: "uid-1", Function: "r.io/other@sha256:b"}, {PodUID: "uid-2"}, {Function: "r.io/fn:v1@sha256:b"},
		} {
			var trailer metadata.MD
			err := call(metadata.AppendToOutgoingContext(t.Context(), meant.Metadata()...), &trailer)
			if status.Code(err) != codes.Unavailable || !wrapperapi.Misdirected(trailer) || !wrapperapi.Refused(trailer) {
				t.Errorf("%s for %+v: error %v, trailer %v, want a misdirection", name, meant, err, trailer)
				continue
			}
			for _, part := range []string{"uid-1", own, meant.PodUID, meant.Function} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s for %+v: error %v, want %s in it", name, meant, err, part)
				}
			}
			if load, ok := wrapperapi.LoadOf(trailer); ok {
				t.Errorf("%s: trailer of a misdirection contains load %+v", name, load)
			}
		}
		for _, meant := range []wrapperapi.Target{{PodUID: "uid-1", Function: own}, {}} {
			var trailer metadata.MD
			if err := call(metadata.AppendToOutgoingContext(t.Context(), meant.Metadata()...), &trailer); err != nil {
				t.Errorf("%s for %+v: error %v", name, meant, err)
			}
			wantLoad(t, trailer, wrapperapi.Load{})
		}
		if err := call(t.Context(), new(metadata.MD)); err != nil {
			t.Errorf("%s without a target: error %v", name, err)
		}
	}
}

// A wrapper server without an identity accepts requests for any target.
func TestNoTarget(t *testing.T) {
	t.Parallel()
	conn, _ := start(t, "cat")
	for name, call := range requests(conn) {
		meant := wrapperapi.Target{PodUID: "uid", Function: "fn"}
		if err := call(metadata.AppendToOutgoingContext(t.Context(), meant.Metadata()...), new(metadata.MD)); err != nil {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A caller knows whether its call has started. It sends a call that has not started to another pod if this one goes away.
func TestHeaderAnnouncesRunningCalls(t *testing.T) {
	t.Parallel()
	pipe := fifo(t)
	conn, _ := start(t, "cat; echo >"+pipe+"; exec sleep 1000", "--max-concurrent-evaluations=1")
	client := wrapperv1grpc.NewFunctionServiceClient(conn)
	ctx, cancel := context.WithCancel(t.Context())
	headers := make([]metadata.MD, 2)
	var calls sync.WaitGroup
	for i := range headers {
		calls.Go(func() {
			_, _ = client.Evaluate(ctx, &wrapperv1.EvaluateRequest{}, grpc.Header(&headers[i]))
		})
	}
	drained(t, pipe)
	// On one connection, this response arrives after the header of the running call.
	var trailer metadata.MD
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.Trailer(&trailer)); err != nil {
		t.Error(err)
	}
	if load, ok := wrapperapi.LoadOf(trailer); !ok || load.Running != 1 {
		t.Errorf("load during a call = %+v, want 1 running", load)
	}
	cancel()
	calls.Wait()
	if wrapperapi.HasBegun(headers[0]) == wrapperapi.HasBegun(headers[1]) {
		t.Errorf("headers of two calls = %v, want one that has begun", headers)
	}
	for _, header := range headers {
		if load, ok := wrapperapi.LoadOf(header); wrapperapi.HasBegun(header) && (!ok || load.Running != 1) {
			t.Errorf("header of the running call = %v, want a load of 1", header)
		}
	}
}
