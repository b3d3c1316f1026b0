// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

// Calls above the budget wait. Only a few of their requests are read. Calls above the maximum number of waiting ones are
// rejected.
func TestAdmission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = callOverhead + 6                     // of a request with only an image of four letters
		const running, read, unread = 2, size / 1000, 200 // half of the budget, in messages of at most 1000 bytes
		budget := middleware.NewBudget(2*size, unread)
		h := startWith(t, Options{Budget: budget})
		defer h.end(t)
		errs := make(chan error, running+read+unread)
		call := func(ctx context.Context) {
			_, err := h.client.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: "wait"})
			errs <- err
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range running {
			go call(t.Context())
			<-h.entered
		}
		for range read + unread {
			go call(ctx)
		}
		synctest.Wait()
		if reserved, waiting := budget.Load(); reserved != running*size || waiting != read*size {
			t.Errorf("%d calls reserved memory and %d wait for it, want %d and %d", reserved/size, waiting/size, running, read)
		}
		err := h.call(t, "wait")
		if text := status.Convert(err).Message(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(text, "200 calls wait already") {
			t.Errorf("error of one more call = %v, want ResourceExhausted", err)
		}
		cancel()
		for range read + unread {
			if err := <-errs; status.Code(err) != codes.Canceled {
				t.Errorf("error of a cancelled call = %v, want Canceled", err)
			}
		}
		synctest.Wait()
		close(h.release)
		for range running {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if reserved, waiting := budget.Load(); reserved != 0 || waiting != 0 {
			t.Errorf("after all calls, %d bytes are reserved and %d waited for, want 0", reserved, waiting)
		}
	})
}

// A request may have a larger weight than its size.
func TestAdmissionWeighs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const weight = 1000
		budget := middleware.NewBudget(10*callOverhead, 10)
		h := startWith(t, Options{Budget: budget, Weigh: func(proto.Message) int64 { return weight }})
		defer h.end(t)
		done := make(chan error, 1)
		go func() { done <- h.call(t, "wait") }()
		<-h.entered
		if reserved, _ := budget.Load(); reserved != callOverhead+weight {
			t.Errorf("%d bytes are reserved, want %d", reserved, callOverhead+weight)
		}
		close(h.release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// With a budget, unary calls behave as without.
func TestAdmissionKeepsUnarySemantics(t *testing.T) {
	t.Parallel()
	h := startWith(t, Options{Budget: middleware.NewBudget(1, 10)})
	defer h.end(t)
	if err := h.call(t, ""); err != nil {
		t.Error(err)
	}
	if err := h.call(t, "panic"); status.Code(err) != codes.Internal {
		t.Errorf("error of a panic = %v, want Internal", err)
	}
	if err := h.call(t, strings.Repeat("x", 2000)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("error of a large request = %v, want ResourceExhausted", err)
	}
	twice, err := h.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, evaluatorgrpc.FunctionEvaluator_EvaluateFunction_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := twice.SendMsg(&evaluator.EvaluateFunctionRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := twice.RecvMsg(new(evaluator.EvaluateFunctionResponse)); status.Code(err) != codes.Internal {
		t.Errorf("error of two requests in one call = %v, want Internal", err)
	}
	if err := h.call(t, ""); err != nil {
		t.Errorf("error of the next call = %v, want nil", err)
	}
}
