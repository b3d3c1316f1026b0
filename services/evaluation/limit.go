// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/types/known/durationpb"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// Gate lets a limited number of evaluations, or of whatever else takes a place, run at once and a limited number wait: first
// come, first served.
type Gate struct {
	running, waiting int
	places           *semaphore.Weighted
	present          atomic.Int64
}

// NewGate returns a gate for so many running at once and so many more waiting.
func NewGate(running, waiting int) *Gate {
	return &Gate{running: running, waiting: waiting, places: semaphore.NewWeighted(int64(running))}
}

// Enter waits for a place and returns how long that took, and how to leave it again. One who finds no room even to wait
// gets a *BusyError at once; one whose context ends while it waits gives up its place and gets the context's cause.
func (g *Gate) Enter(ctx context.Context) (leave func(), waited time.Duration, err error) {
	if g.present.Add(1) > int64(g.running+g.waiting) {
		g.present.Add(-1)
		return nil, 0, &BusyError{Running: g.running, Waiting: g.waiting}
	}
	queued := time.Now()
	if g.places.Acquire(ctx, 1) != nil {
		g.present.Add(-1)
		return nil, 0, context.Cause(ctx)
	}
	return func() {
		g.places.Release(1)
		g.present.Add(-1)
	}, time.Since(queued), nil
}

// Load returns how many run and how many wait. It may be called at any time.
func (g *Gate) Load() (running, waiting int) {
	// One who finds no room is present for a moment.
	present := min(int(g.present.Load()), g.running+g.waiting)
	running = min(present, g.running)
	return running, present - running
}

// Max returns how many may run, and how many more may wait.
func (g *Gate) Max() (running, waiting int) { return g.running, g.waiting }

// Limit sends an evaluator's calls through the gate, with the errors of Enter. The time spent waiting is added to the
// report.
func (g *Gate) Limit(e Evaluator) Evaluator {
	return Func(func(ctx context.Context, req Request) (Response, error) {
		leave, waited, err := g.Enter(ctx)
		if err != nil {
			return Response{}, err
		}
		defer leave()
		resp, err := e.Evaluate(ctx, req)
		if resp.Report != nil {
			addQueueTime(resp.Report, waited)
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

// WithMaximumTime ends evaluations that take longer than limit. The caller's own deadline still holds where it is
// shorter. The context's cause is then a *TimeoutError, so that a failure can say which limit it was.
func WithMaximumTime(e Evaluator, limit time.Duration) Evaluator {
	cause := &TimeoutError{Limit: limit}
	return Func(func(ctx context.Context, req Request) (Response, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
		defer cancel()
		return e.Evaluate(ctx, req)
	})
}

// maxMargin is the most time before a caller's deadline at which it is answered.
const maxMargin = 100 * time.Millisecond

// InTime ends evaluations shortly before the caller's deadline: by a twentieth of the time that is left, and 100 milliseconds at
// most. An answer at the deadline does not reach the caller, who would learn nothing of what the time was spent on.
func InTime(e Evaluator) Evaluator {
	return Func(func(ctx context.Context, req Request) (Response, error) {
		deadline, ok := ctx.Deadline()
		if !ok {
			return e.Evaluate(ctx, req)
		}
		ctx, cancel := context.WithDeadline(ctx, deadline.Add(-min(time.Until(deadline)/20, maxMargin)))
		defer cancel()
		return e.Evaluate(ctx, req)
	})
}

// OutOfTime tells whether an error is that the caller's time is over: also the answer of an evaluator that ends in time, which
// comes shortly before. An evaluator's own limit, earlier than that, is none.
func OutOfTime(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && errors.Is(err, context.DeadlineExceeded) && time.Until(deadline) <= maxMargin
}
