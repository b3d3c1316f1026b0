// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"context"
	"fmt"
	"time"

	"github.com/krmfn/krmfn/services/evaluation"
)

// WithGate sends renders through a gate, which bounds how many run and wait.
func WithGate(r Renderer, gate *evaluation.Gate) Renderer {
	return func(ctx context.Context, req Request) (Result, error) {
		leave, _, err := gate.Enter(ctx)
		if err != nil {
			return Result{}, err
		}
		defer leave()
		return r(ctx, req)
	}
}

// TimeoutError says that a render took longer than it may, waiting included.
type TimeoutError struct {
	// Limit is how long it may take.
	Limit time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the maximum render time of %v is over, see --max-render-time", e.Limit)
}

// WithMaximumTime ends renders that take longer than limit, with a *TimeoutError. The caller's own deadline still holds
// where it is shorter.
func WithMaximumTime(r Renderer, limit time.Duration) Renderer {
	cause := &TimeoutError{Limit: limit}
	return func(ctx context.Context, req Request) (Result, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, limit, cause)
		defer cancel()
		return r(ctx, req)
	}
}
