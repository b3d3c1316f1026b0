// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"context"
	"errors"
	"time"
)

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
