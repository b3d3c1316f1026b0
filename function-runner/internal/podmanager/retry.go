// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// retried repeats a request that failed temporarily. When ctx ends, the error wraps the cause of ctx and the last failure.
func retried[T any](ctx context.Context, request func() (T, error)) (T, error) {
	var last error
	got, err := backoff.Retry(ctx, func() (T, error) {
		got, err := request()
		if ctx.Err() == nil {
			last = err
		}
		var status apierrors.APIStatus
		if err != nil && errors.As(err, &status) && !temporary(err) {
			return got, backoff.Permanent(err)
		}
		return got, err
	}, backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: 50 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 5 * time.Second,
	}), backoff.WithMaxElapsedTime(0))
	if err != nil && last != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", err, last)
	}
	return got, err
}

// temporary reports whether the same request may succeed later. A conflict of a create request means that two requests have updated the
// same quota at once.
func temporary(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err)
}
