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

// Gate lets a limited number of evaluations run at once and a limited number wait, first come, first served.
type Gate struct {
	running, waiting int
	places           *semaphore.Weighted
	present          atomic.Int64
}

// NewGate returns a gate for so many evaluations running at once and so many more waiting.
func NewGate(running, waiting int) *Gate {
	return &Gate{running: running, waiting: waiting, places: semaphore.NewWeighted(int64(running))}
}

// Limit sends an evaluator's calls through the gate. A call that finds no room even to wait gets a *BusyError at once; one
// whose context ends while it waits gives up its place and gets the context's cause. The time spent waiting is added to
// the report.
func (g *Gate) Limit(e Evaluator) Evaluator {
	return Func(func(ctx context.Context, req Request) (Response, error) {
		defer g.present.Add(-1)
		if g.present.Add(1) > int64(g.running+g.waiting) {
			return Response{}, &BusyError{Running: g.running, Waiting: g.waiting}
		}
		queued := time.Now()
		if g.places.Acquire(ctx, 1) != nil {
			return Response{}, context.Cause(ctx)
		}
		defer g.places.Release(1)
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
