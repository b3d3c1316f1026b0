// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/services/evaluation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
				d := New(ctx)
				var running sync.WaitGroup
				defer running.Wait()
				for _, takes := range tc.running {
					running.Go(func() { _, _ = d.Guard(busyFor(takes)).Evaluate(t.Context(), evaluation.Request{}) })
				}
				synctest.Wait()
				begin()
				started := time.Now()
				idle := d.Wait(time.Minute)
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
	guarded := New(ctx).Guard(busyFor(0))
	// Coming and going before the drain does not end it.
	for range 2 {
		if _, err := guarded.Evaluate(t.Context(), evaluation.Request{}); err != nil {
			t.Errorf("before the drain got error %v", err)
		}
	}
	begin()
	if _, err := guarded.Evaluate(t.Context(), evaluation.Request{}); !errors.Is(err, ErrDraining) {
		t.Errorf("got error %v, want %v", err, ErrDraining)
	}
}
