// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"context"
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
