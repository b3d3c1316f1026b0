// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

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

// From the start of a shutdown, both services reject new evaluations, on existing and new connections. Health is NOT_SERVING, and
// running evaluations finish.
func TestShutdown(t *testing.T) {
	t.Parallel()
	began, release := fifo(t), fifo(t)
	h := run(t, nil, io.Discard, "list=$(cat); echo began > "+began+"; cat "+release+" > /dev/null; printf '%s\\n' \"$list\"")
	ended := make(chan error, 1)
	go func() {
		resp, err := wrapperv1grpc.NewFunctionServiceClient(h.conn).Evaluate(t.Context(), &wrapperv1.EvaluateRequest{ResourceList: []byte(list)})
		if err == nil && string(resp.GetResourceList()) != list {
			t.Errorf("response of the running evaluation = %v", resp)
		}
		ended <- err
	}()
	drained(t, began)
	h.stop()
	fresh := dial(t, h.addr)
	for name, conn := range map[string]*grpc.ClientConn{"existing connection": h.conn, "new connection": fresh} {
		refused(t, name, func(trailer *metadata.MD) error {
			_, err := wrapperv1grpc.NewFunctionServiceClient(conn).Evaluate(t.Context(), &wrapperv1.EvaluateRequest{}, grpc.Trailer(trailer))
			return err
		})
		refused(t, name, func(trailer *metadata.MD) error {
			_, err := evaluatorgrpc.NewFunctionEvaluatorClient(conn).EvaluateFunction(t.Context(), &evaluator.EvaluateFunctionRequest{}, grpc.Trailer(trailer))
			return err
		})
		notServing(t, conn)
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("running evaluation = %v, want nil", err)
	}
	_ = fresh.Close()
	h.end(t)
}

func refused(t *testing.T, name string, call func(*metadata.MD) error) {
	t.Helper()
	var trailer metadata.MD
	if err := call(&trailer); status.Code(err) != codes.Unavailable || !wrapperapi.Refused(trailer) ||
		!strings.Contains(err.Error(), "shutting down") {
		t.Errorf("%s: error %v, trailer %v, want a rejection", name, err, trailer)
	}
}

// notServing polls health until it is NOT_SERVING, which must be long before the drain timeout.
func notServing(t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	for _, service := range []string{"", wrapperv1grpc.FunctionService_ServiceDesc.ServiceName} {
		request := &grpc_health_v1.HealthCheckRequest{Service: service}
		var got *grpc_health_v1.HealthCheckResponse
		var err error
		for range 1000 {
			got, err = grpc_health_v1.NewHealthClient(conn).Check(t.Context(), request)
			if err != nil || got.GetStatus() == grpc_health_v1.HealthCheckResponse_NOT_SERVING {
				break
			}
		}
		if err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
			t.Errorf("health of %q = %v (error %v), want NOT_SERVING", service, got.GetStatus(), err)
		}
	}
}

// A call that is canceled at the drain timeout may have run, so it is not marked as rejected.
func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	began := fifo(t)
	h := run(t, nil, io.Discard, "cat; echo began > "+began+"; sleep 1000", "--drain-timeout=100ms")
	type end struct {
		err     error
		trailer metadata.MD
	}
	ended := make(chan end, 1)
	go func() {
		var e end
		_, e.err = wrapperv1grpc.NewFunctionServiceClient(h.conn).Evaluate(t.Context(), &wrapperv1.EvaluateRequest{}, grpc.Trailer(&e.trailer))
		ended <- e
	}()
	drained(t, began)
	h.end(t)
	if e := <-ended; status.Code(e.err) != codes.Unavailable || wrapperapi.Refused(e.trailer) {
		t.Errorf("Evaluate() = %v, trailer %v, want %v and no rejection", e.err, e.trailer, codes.Unavailable)
	}
}

// At the caller's deadline, all processes of the function are killed.
func TestDeadlineKillsTheProcessGroup(t *testing.T) {
	t.Parallel()
	open := fifo(t)
	// The pipe closes when the child process exits, because it is the only writer.
	conn, _ := start(t, "cat; sleep 1000 3> "+open+" & wait")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := wrapperv1grpc.NewFunctionServiceClient(conn).Evaluate(ctx, &wrapperv1.EvaluateRequest{})
		ended <- err
	}()
	drained(t, open)
	if err := <-ended; status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("Evaluate() = %v, want %v", err, codes.DeadlineExceeded)
	}
}
