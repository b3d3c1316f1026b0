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

// Gate limits the number of concurrent evaluations, or other operations, and the number of waiting ones. It admits them in FIFO order.
type Gate struct {
	running, waiting int
	slots            *semaphore.Weighted
	entered          atomic.Int64
}

// NewGate returns a gate that admits running operations at once and lets waiting more wait.
func NewGate(running, waiting int) *Gate {
	return &Gate{running: running, waiting: waiting, slots: semaphore.NewWeighted(int64(running))}
}

// Enter waits until the gate admits the caller. It returns a function to leave the gate, and the time waited. If the queue is full, it
// returns a *BusyError at once. If ctx ends first, the caller leaves the queue and gets the context's cause.
func (g *Gate) Enter(ctx context.Context) (leave func(), waited time.Duration, err error) {
	if g.entered.Add(1) > int64(g.running+g.waiting) {
		g.entered.Add(-1)
		return nil, 0, &BusyError{Running: g.running, Waiting: g.waiting}
	}
	queued := time.Now()
	if g.slots.Acquire(ctx, 1) != nil {
		g.entered.Add(-1)
		return nil, 0, context.Cause(ctx)
	}
	return func() {
		g.slots.Release(1)
		g.entered.Add(-1)
	}, time.Since(queued), nil
}

// Load returns the number of admitted and of waiting operations. It is safe for concurrent use.
func (g *Gate) Load() (running, waiting int) {
	// entered briefly includes callers that get a BusyError.
	entered := min(int(g.entered.Load()), g.running+g.waiting)
	running = min(entered, g.running)
	return running, entered - running
}

// Max returns the maximum numbers of admitted and of waiting operations.
func (g *Gate) Max() (running, waiting int) { return g.running, g.waiting }

// Limit returns an evaluator whose calls pass the gate, with the errors of Enter. The time waited is added to the report.
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

// WithMaximumTime returns an evaluator that ends evaluations after limit. If the caller's deadline is earlier, that one applies. The
// context's cause after limit is a *TimeoutError, so that errors can name the limit.
func WithMaximumTime(e Evaluator, limit time.Duration) Evaluator {
	cause := &TimeoutError{Limit: limit}
	return Func(func(ctx context.Context, req Request) (Response, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
		defer cancel()
		return e.Evaluate(ctx, req)
	})
}

// maxMargin is the maximum time between a reply and the caller's deadline.
const maxMargin = 100 * time.Millisecond

// InTime returns an evaluator that ends evaluations shortly before the caller's deadline: 5% of the remaining time, at most maxMargin.
// A reply at the deadline arrives too late, and the caller would not learn what the time was spent on.
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

// OutOfTime reports whether the caller's deadline caused an error. The deadline may be up to maxMargin in the future, because InTime
// returns before it. Errors of an evaluator's own, earlier limit do not count.
func OutOfTime(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && errors.Is(err, context.DeadlineExceeded) && time.Until(deadline) <= maxMargin
}
