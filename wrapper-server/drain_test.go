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

// busyFor returns an evaluator that takes so long.
func busyFor(d time.Duration) evaluation.Evaluator {
	return evaluation.Func(func(context.Context, evaluation.Request) (evaluation.Response, error) {
		time.Sleep(d)
		return evaluation.Response{}, nil
	})
}

func TestWait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		running []time.Duration
		idle    bool
		took    time.Duration
	}{
		"nothing runs":                 {nil, true, 0},
		"all end in time":              {[]time.Duration{time.Second, 3 * time.Second}, true, 3 * time.Second},
		"one takes longer than it may": {[]time.Duration{time.Second, time.Hour}, false, time.Minute},
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
					t.Errorf("waited %v and got %v, want %v and %v", took, idle, tc.took, tc.idle)
				}
			})
		})
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	ctx, begin := context.WithCancel(t.Context())
	guarded := newDrain(ctx).guard(busyFor(0))
	// Coming and going before the drain does not end it.
	for range 2 {
		if _, err := guarded.Evaluate(t.Context(), evaluation.Request{}); err != nil {
			t.Errorf("before the drain got error %v", err)
		}
	}
	begin()
	if _, err := guarded.Evaluate(t.Context(), evaluation.Request{}); !errors.Is(err, errDraining) {
		t.Errorf("got error %v, want %v", err, errDraining)
	}
}
