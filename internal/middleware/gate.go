// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package middleware wraps evaluators with what servers need: admission, deadlines, memory budgets and logs.
package middleware

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/types/known/durationpb"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
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
// returns a *evaluation.BusyError at once. If ctx ends first, the caller leaves the queue and gets the context's cause.
func (g *Gate) Enter(ctx context.Context) (leave func(), waited time.Duration, err error) {
	if g.entered.Add(1) > int64(g.running+g.waiting) {
		g.entered.Add(-1)
		return nil, 0, &evaluation.BusyError{Running: g.running, Waiting: g.waiting}
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
func (g *Gate) Limit(e evaluation.Evaluator) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		leave, waited, err := g.Enter(ctx)
		if err != nil {
			return evaluation.Response{}, err
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
