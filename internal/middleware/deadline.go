// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"errors"
	"time"

	"github.com/krmfn/krmfn/services/evaluation"
)

// WithMaximumTime returns an evaluator that ends evaluations after limit. If the caller's deadline is earlier, that one applies. The
// context's cause after limit is a *evaluation.TimeoutError, so that errors can name the limit.
func WithMaximumTime(e evaluation.Evaluator, limit time.Duration) evaluation.Evaluator {
	cause := &evaluation.TimeoutError{Limit: limit}
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
		defer cancel()
		return e.Evaluate(ctx, req)
	})
}

// maxMargin is the maximum time between a reply and the caller's deadline.
const maxMargin = 100 * time.Millisecond

// InTime returns an evaluator that ends evaluations shortly before the caller's deadline: 5% of the remaining time, at most maxMargin.
// A reply at the deadline arrives too late, and the caller would not learn what the time was spent on.
func InTime(e evaluation.Evaluator) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
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
