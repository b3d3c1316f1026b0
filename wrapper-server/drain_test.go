// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/services/evaluation"
)

// busyFor returns an evaluator that takes d.
func busyFor(d time.Duration) evaluation.Evaluator {
	return evaluation.Func(func(context.Context, evaluation.Request) (evaluation.Response, error) {
		time.Sleep(d)
		return evaluation.Response{}, nil
	})
}

func TestDrainWaits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		running []time.Duration
		idle    bool
		took    time.Duration
	}{
		"no evaluation":         {nil, true, 0},
		"all end in time":       {[]time.Duration{time.Second, 3 * time.Second}, true, 3 * time.Second},
		"one exceeds the limit": {[]time.Duration{time.Second, time.Hour}, false, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, begin := context.WithCancel(t.Context())
				d := newDrain(ctx)
				var running sync.WaitGroup
				defer running.Wait()
				for _, takes := range tc.running {
					running.Go(func() { _, _ = d.guard(busyFor(takes)).Evaluate(t.Context(), evaluation.Request{}) })
				}
				synctest.Wait()
				begin()
				started := time.Now()
				idle := d.wait(time.Minute)
				if took := time.Since(started); idle != tc.idle || took != tc.took {
					t.Errorf("wait() = %v after %v, want %v after %v", idle, took, tc.idle, tc.took)
				}
			})
		})
	}
}

func TestDrainRejectsEvaluations(t *testing.T) {
	t.Parallel()
	ctx, begin := context.WithCancel(t.Context())
	guarded := newDrain(ctx).guard(busyFor(0))
	// Evaluations that end before the shutdown do not close idle.
	for range 2 {
		if _, err := guarded.Evaluate(t.Context(), evaluation.Request{}); err != nil {
			t.Errorf("Evaluate() before the shutdown = %v", err)
		}
	}
	begin()
	if _, err := guarded.Evaluate(t.Context(), evaluation.Request{}); !errors.Is(err, errDraining) {
		t.Errorf("Evaluate() during the shutdown = %v, want %v", err, errDraining)
	}
}
