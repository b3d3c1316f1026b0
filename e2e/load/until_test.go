// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// caller takes a second per call. Every fourth and every fifth call fails.
type caller struct {
	calls  int
	closed atomic.Int64
}

func (c *caller) Call(context.Context) error {
	c.calls++
	time.Sleep(time.Second)
	if c.calls%4 == 0 || c.calls%5 == 0 {
		return errors.New("broken")
	}
	return nil
}

func (c *caller) Close() error {
	c.closed.Add(1)
	return nil
}

func TestUntilStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		callers := []*caller{{}, {}}
		l := Start(t.Context(), callers)
		// Stop waits for the tenth call of each caller. Four of the ten calls fail.
		time.Sleep(9500 * time.Millisecond)
		errs := l.Stop()
		if got := []int64{l.Calls(), int64(len(errs))}; got[0] != 12 || got[1] != 8 {
			t.Errorf("successful calls = %d, errors = %d, want 12 and 8: %v", got[0], got[1], errs)
		}
		if l.Longest() != time.Second {
			t.Errorf("Longest() = %v, want 1s", l.Longest())
		}
		for _, c := range callers {
			if c.calls != 10 || c.closed.Load() != 1 {
				t.Errorf("calls of the caller = %d, closed %d times, want 10 and 1", c.calls, c.closed.Load())
			}
		}
		if again := l.Stop(); len(again) != len(errs) {
			t.Errorf("second Stop() returned %d errors, want %d", len(again), len(errs))
		}
	})
}
