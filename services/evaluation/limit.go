// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/types/known/durationpb"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// WithLimit lets at most running evaluations run at once and at most waiting more wait, first come, first served; the
// next gets a *BusyError at once. A caller that goes away gives up its place in the queue. The time spent waiting is added
// to the report.
func WithLimit(e Evaluator, running, waiting int) Evaluator {
	places := semaphore.NewWeighted(int64(running))
	var present atomic.Int64
	return Func(func(ctx context.Context, req Request) (Response, error) {
		defer present.Add(-1)
		if present.Add(1) > int64(running+waiting) {
			return Response{}, &BusyError{Running: running, Waiting: waiting}
		}
		queued := time.Now()
		if !places.TryAcquire(1) {
			if err := places.Acquire(ctx, 1); err != nil {
				return Response{}, context.Cause(ctx)
			}
		}
		defer places.Release(1)
		wait := time.Since(queued)
		resp, err := e.Evaluate(ctx, req)
		if resp.Report != nil {
			addQueueTime(resp.Report, wait)
		}
		return resp, err
	})
}

func addQueueTime(report *evaluationv1.Evaluation, wait time.Duration) {
	if report.Timings == nil {
		report.Timings = &evaluationv1.Timings{}
	}
	report.Timings.Queue = durationpb.New(report.GetTimings().GetQueue().AsDuration() + wait)
}
