// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

// Clients that start calls and send no request are cut off, so that requests of other clients are read.
func TestSlowSendersAreCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const readers = 4
		h := startWith(t, Options{Budget: middleware.NewBudget(1, 10)})
		defer h.end(t)
		slow := make([]grpc.ClientStream, readers)
		for i := range slow {
			stream, err := h.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, evaluatorgrpc.FunctionEvaluator_EvaluateFunction_FullMethodName)
			if err != nil {
				t.Fatal(err)
			}
			slow[i] = stream
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*TransferTime(0))
		defer cancel()
		begin := time.Now()
		if _, err := h.client.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{}); err != nil || time.Since(begin) != TransferTime(0) {
			t.Errorf("a call behind slow ones ended after %v with error %v, want success after TransferTime", time.Since(begin), err)
		}
		for _, stream := range slow {
			if err := stream.RecvMsg(new(evaluator.EvaluateFunctionResponse)); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("error of a slow call = %v, want DeadlineExceeded", err)
			}
		}
	})
}

// After its request has been read in time, a call may run for longer.
func TestRunningCallsAreNotCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startWith(t, Options{Budget: middleware.NewBudget(1, 10)})
		defer h.end(t)
		done := make(chan error, 1)
		go func() { done <- h.call(t, "wait") }()
		<-h.entered
		time.Sleep(2 * TransferTime(1000)) // fake time
		close(h.release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
