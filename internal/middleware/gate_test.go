// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		order := make(chan string, 10)
		gate := NewGate(1, 2)
		load := func(running, waiting int) {
			t.Helper()
			synctest.Wait()
			if r, w := gate.Load(); r != running || w != waiting {
				t.Errorf("Load() = %d running, %d waiting, want %d, %d", r, w, running, waiting)
			}
		}
		load(0, 0)
		e := gate.Limit(evaluation.Func(func(_ context.Context, req evaluation.Request) (evaluation.Response, error) {
			order <- req.Image
			time.Sleep(time.Second) // synctest's clock
			return evaluation.Response{Report: &evaluationv1.Evaluation{}}, nil
		}))
		queued := make(chan time.Duration, 10)
		call := func(ctx context.Context, name string) {
			resp, err := e.Evaluate(ctx, evaluation.Request{Image: name})
			if err == nil {
				queued <- resp.Report.GetTimings().GetQueue().AsDuration()
			}
		}
		go call(t.Context(), "first")
		synctest.Wait()
		// A canceled call leaves the queue.
		ctx, cancel := context.WithCancel(t.Context())
		go call(ctx, "gone")
		load(1, 1)
		cancel()
		load(1, 0)
		go call(t.Context(), "second")
		synctest.Wait()
		go call(t.Context(), "third")
		synctest.Wait()
		if _, err := e.Evaluate(t.Context(), evaluation.Request{}); !errors.As(err, new(*evaluation.BusyError)) {
			t.Errorf("Evaluate() with a full queue = %v, want a BusyError", err)
		}
		load(1, 2)
		for i, want := range []string{"first", "second", "third"} {
			if got := <-order; got != want {
				t.Errorf("%s ran, want %s", got, want)
			}
			if got, wait := <-queued, time.Duration(i)*time.Second; got != wait {
				t.Errorf("queue time of %s = %v, want %v", want, got, wait)
			}
		}
		load(0, 0)
	})
}
