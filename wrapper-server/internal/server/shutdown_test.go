// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

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

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

// From the first moment of a shutdown new evaluations are refused, on either service and on new connections too, health
// tells so, and those that run are finished.
func TestShutdown(t *testing.T) {
	t.Parallel()
	began, release := fifo(t), fifo(t)
	h := run(t, nil, io.Discard, "list=$(cat); echo began > "+began+"; cat "+release+" > /dev/null; printf '%s\\n' \"$list\"")
	ended := make(chan error, 1)
	go func() {
		resp, err := wrapperv1grpc.NewFunctionServiceClient(h.conn).Evaluate(t.Context(), &wrapperv1.EvaluateRequest{ResourceList: []byte(list)})
		if err == nil && string(resp.GetResourceList()) != list {
			t.Errorf("the running evaluation answers %v", resp)
		}
		ended <- err
	}()
	drained(t, began)
	h.stop()
	fresh := dial(t, h.addr)
	for name, conn := range map[string]*grpc.ClientConn{"the old connection": h.conn, "a new connection": fresh} {
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
		t.Errorf("the running evaluation ends in %v", err)
	}
	_ = fresh.Close()
	h.end(t)
}

func refused(t *testing.T, name string, call func(*metadata.MD) error) {
	t.Helper()
	var trailer metadata.MD
	if err := call(&trailer); status.Code(err) != codes.Unavailable || !wrapperapi.Refused(trailer) ||
		!strings.Contains(err.Error(), "shutting down") {
		t.Errorf("on %s got error %v and trailer %v, want a refusal", name, err, trailer)
	}
}

// notServing asks for health until it is that the server does not serve, which is long before the drain time is over.
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
			t.Errorf("health of %q is %v (%v), want NOT_SERVING", service, got.GetStatus(), err)
		}
	}
}

// A call that is cut off may have run, and is not a refusal.
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
		t.Errorf("got error %v and trailer %v, want %v and no refusal", e.err, e.trailer, codes.Unavailable)
	}
}

// The caller's deadline ends all that the function has started.
func TestDeadlineKillsTheProcessGroup(t *testing.T) {
	t.Parallel()
	open := fifo(t)
	// The pipe is at its end when the child, which has it open, is gone.
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
		t.Errorf("got error %v, want %v", err, codes.DeadlineExceeded)
	}
}
