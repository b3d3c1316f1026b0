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

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client answers after a second: every fourth call fails, and every fifth has no output.
type client struct {
	calls  int
	closed atomic.Int64
}

func (c *client) Evaluate(ctx context.Context, _ string, list []byte) ([]byte, error) {
	c.calls++
	time.Sleep(time.Second)
	switch {
	case c.calls%4 == 0:
		return nil, errors.New("broken")
	case c.calls%5 == 0:
		return nil, ctx.Err()
	}
	return list, nil
}

func (c *client) Close() error {
	c.closed.Add(1)
	return nil
}

func TestLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clients := []*client{{}, {}}
		l := Start(t.Context(), clients, "image", []byte("list"))
		// The tenth call runs when it ends: two of the ten fail, and two have no output.
		time.Sleep(9500 * time.Millisecond)
		errs := l.Stop()
		if got := []int64{l.Calls(), int64(len(errs))}; got[0] != 12 || got[1] != 8 {
			t.Errorf("%d calls and %d errors, want 12 and 8: %v", got[0], got[1], errs)
		}
		for _, c := range clients {
			if c.calls != 10 || c.closed.Load() != 1 {
				t.Errorf("the client had %d calls and was closed %d times, want 10 and 1", c.calls, c.closed.Load())
			}
		}
		if again := l.Stop(); len(again) != len(errs) {
			t.Errorf("stopped again, it has %d errors", len(again))
		}
	})
}
