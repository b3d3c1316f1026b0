// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/krmfn/krmfn/services/evaluation"
)

func reserve(t *testing.T, b *Budget, bytes int64) *Reservation {
	t.Helper()
	r, err := b.Reserve(t.Context(), bytes)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func assertLoad(t *testing.T, b *Budget, reserved, waiting int64) {
	t.Helper()
	synctest.Wait()
	if r, w := b.Load(); r != reserved || w != waiting {
		t.Errorf("Load() = %d bytes reserved, %d waiting, want %d, %d", r, w, reserved, waiting)
	}
}

// Small calls do not overtake a large one. A canceled call leaves the queue.
func TestBudgetOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, 10)
		first := reserve(t, b, 60)
		var order []string
		var mu sync.Mutex
		var calls sync.WaitGroup
		call := func(ctx context.Context, name string, bytes int64) {
			calls.Go(func() {
				r, err := b.Reserve(ctx, bytes)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					order = append(order, name+": "+err.Error())
					return
				}
				defer r.Release()
				order = append(order, name)
			})
			synctest.Wait()
		}
		gone, leave := context.WithCancelCause(t.Context())
		call(gone, "gone", 50)
		call(t.Context(), "large", 90)
		call(t.Context(), "small", 10)
		assertLoad(t, b, 60, 150)
		leave(errors.New("hung up"))
		assertLoad(t, b, 60, 100)
		first.Keep(10)
		calls.Wait()
		assertLoad(t, b, 10, 0)
		if diff := cmp.Diff([]string{"gone: hung up", "large", "small"}, order); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		first.Release()
		first.Release()
		assertLoad(t, b, 0, 0)
	})
}

func TestBudgetOversizedIsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, 1)
		large := reserve(t, b, 1000)
		if large.Bytes() != 100 {
			t.Errorf("Bytes() = %d, want the whole budget", large.Bytes())
		}
		begin := time.Now()
		time.AfterFunc(time.Minute, large.Release)
		reserve(t, b, 1).Release()
		if waited := time.Since(begin); waited != time.Minute {
			t.Errorf("the next call waited %v, want 1m0s", waited)
		}
	})
}

func TestBudgetWaitingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100<<20, 1)
		held := reserve(t, b, 100<<20)
		go func() {
			if r, err := b.Reserve(t.Context(), 1); err == nil {
				r.Release()
			}
		}()
		synctest.Wait()
		_, err := b.Reserve(t.Context(), 1)
		if diff := cmp.Diff(error(&evaluation.ExhaustedError{Total: 100 << 20, Waiting: 1}), err); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		held.Release()
		assertLoad(t, b, 0, 0)
	})
}

// For any calls, the reservations never exceed the total, all calls end, and no memory remains reserved.
func TestBudgetProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		total := rapid.Int64Range(1, 100).Draw(rt, "total")
		type call struct{ Bytes, Kept, Hold, Patience int64 }
		calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) call {
			n := rapid.Int64Range(0, 150)
			return call{n.Draw(t, "bytes"), n.Draw(t, "kept"), n.Draw(t, "hold"), n.Draw(t, "patience")}
		}), 1, 30).Draw(rt, "calls")
		synctest.Test(t, func(t *testing.T) {
			b := NewBudget(total, len(calls))
			var all sync.WaitGroup
			for _, c := range calls {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(c.Patience)*time.Second)
					defer cancel()
					r, err := b.Reserve(ctx, c.Bytes)
					if err != nil {
						return
					}
					defer r.Release()
					if reserved, _ := b.Load(); reserved > total {
						t.Errorf("%d of %d bytes reserved", reserved, total)
					}
					time.Sleep(time.Duration(c.Hold) * time.Second) // synctest's clock
					r.Keep(c.Kept)
				})
			}
			all.Wait()
			assertLoad(t, b, 0, 0)
			if !b.free.TryAcquire(total) {
				t.Error("a part of the budget was not released")
			}
		})
	})
}
