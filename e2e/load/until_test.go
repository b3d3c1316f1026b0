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

// caller has an answer after a second; every fourth and every fifth call fails.
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
		// The tenth call runs when it ends: four of the ten fail.
		time.Sleep(9500 * time.Millisecond)
		errs := l.Stop()
		if got := []int64{l.Calls(), int64(len(errs))}; got[0] != 12 || got[1] != 8 {
			t.Errorf("%d calls and %d errors, want 12 and 8: %v", got[0], got[1], errs)
		}
		if l.Longest() != time.Second {
			t.Errorf("the longest call took %v, want a second", l.Longest())
		}
		for _, c := range callers {
			if c.calls != 10 || c.closed.Load() != 1 {
				t.Errorf("the caller made %d calls and was closed %d times, want 10 and 1", c.calls, c.closed.Load())
			}
		}
		if again := l.Stop(); len(again) != len(errs) {
			t.Errorf("stopped again, it has %d errors", len(again))
		}
	})
}
