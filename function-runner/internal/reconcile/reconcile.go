// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconcile repeatedly brings something up to date: at an interval, after changes, and with backoff after errors.
package reconcile

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/krmfn/krmfn/internal/server/logging"
)

const (
	// MinInterval is the minimum interval between attempts. It limits the rate of requests if changes are frequent.
	MinInterval = time.Second
	// maxBackoff is the maximum interval between attempts after errors.
	maxBackoff = 2 * time.Minute
)

// Loop repeats attempts. All fields must be set unless their comments say otherwise.
type Loop struct {
	// Attempt makes one attempt. It must return when ctx ends.
	Attempt func(ctx context.Context) error
	// Interval is the interval between successful attempts if nothing changes. It must be at least MinInterval.
	Interval time.Duration
	// Changed requests an attempt before the interval or the backoff is over. It may be nil.
	Changed <-chan struct{}
	// Failed is called when an attempt has failed with another error than the attempt before.
	Failed func(err error)
}

// Run makes attempts until ctx ends, the first one at once.
func (l Loop) Run(ctx context.Context) {
	pauses := &backoff.ExponentialBackOff{
		InitialInterval: MinInterval, MaxInterval: min(maxBackoff, l.Interval), Multiplier: 2, RandomizationFactor: 0.2,
	}
	pauses.Reset()
	var logged logging.Once
	for ctx.Err() == nil {
		pause := l.Interval
		err := l.Attempt(ctx)
		if err != nil {
			pause = pauses.NextBackOff()
		} else {
			pauses.Reset()
		}
		if logged.New(err) && ctx.Err() == nil {
			l.Failed(err)
		}
		wait(ctx, nil, MinInterval)
		wait(ctx, l.Changed, pause-MinInterval)
	}
}

// wait returns after a pause, after a change, or when ctx ends.
func wait(ctx context.Context, changed <-chan struct{}, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-changed:
	case <-time.After(pause):
	}
}
