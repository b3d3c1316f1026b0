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

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Clients that begin calls and send no request are cut off, so that those of others are read.
func TestSlowSendersAreCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const readers = 4
		h := startWith(t, Options{Budget: evaluation.NewBudget(1, 10)})
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
			t.Errorf("a call behind slow ones ends after %v in %v", time.Since(begin), err)
		}
		for _, stream := range slow {
			if err := stream.RecvMsg(new(evaluator.EvaluateFunctionResponse)); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("a slow one ends in %v", err)
			}
		}
	})
}

// A call that has been read in time may run for longer.
func TestCallsThatRunAreNotCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startWith(t, Options{Budget: evaluation.NewBudget(1, 10)})
		defer h.end(t)
		done := make(chan error, 1)
		go func() { done <- h.call(t, "wait") }()
		<-h.entered
		time.Sleep(2 * TransferTime(1000)) // of the bubble's clock
		close(h.release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
