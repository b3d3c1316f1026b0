// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

func config() pool.Config {
	return pool.Config{MaxPods: 2, Waitlist: 1, PerPod: 8, MaxWaiting: 100, TTL: time.Minute}
}

// harness is a pool whose pods are named by their slots, and the calls on it.
type harness struct {
	t *testing.T
	*pool.Pool[string]
	// started are the slots that wanted a pod, in order.
	started []int
}

func newHarness(t *testing.T, c pool.Config) *harness {
	t.Helper()
	h := &harness{t: t}
	h.Pool = pool.New[string](c, func(slot int) { h.started = append(h.started, slot) })
	return h
}

// call is a call that waits for a place, or has one.
type call struct {
	place  *pool.Place[string]
	err    error
	done   bool
	cancel context.CancelCauseFunc
}

// call makes a call in a bubble, which has its answer by the time that this returns, if there is one.
func (h *harness) call() *call {
	ctx, cancel := context.WithCancelCause(h.t.Context())
	c := &call{cancel: cancel}
	go func() {
		c.place, c.err = h.Acquire(ctx)
		c.done = true
	}()
	synctest.Wait()
	return c
}

func (h *harness) ready(slot int) {
	h.Ready(slot, strings.Repeat("i", slot))
	synctest.Wait()
}

func (h *harness) wantStarted(slots ...int) {
	h.t.Helper()
	if diff := cmp.Diff(slots, h.started); diff != "" {
		h.t.Errorf("started slots (-want +got):\n%s", diff)
	}
}

// slots returns where calls run: 0 for one that waits.
func slots(calls ...*call) []int {
	var out []int
	for _, c := range calls {
		slot := 0
		if c.place != nil {
			slot = c.place.Slot
		}
		out = append(out, slot)
	}
	return out
}

func wantSlots(t *testing.T, want []int, calls ...*call) {
	t.Helper()
	if diff := cmp.Diff(want, slots(calls...)); diff != "" {
		t.Errorf("slots of the calls (-want +got):\n%s", diff)
	}
}

// With a waitlist of one and two pods, four calls at once make two pods, as in Porch.
func TestFourCallsTwoPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		calls := []*call{h.call(), h.call(), h.call(), h.call()}
		h.wantStarted(1, 2)
		h.ready(2)
		// The first pod that is ready takes all that wait.
		wantSlots(t, []int{2, 2, 2, 2}, calls...)
		h.ready(1)
		wantSlots(t, []int{1}, h.call())
		h.wantStarted(1, 2)
	})
}

// The calls that wait for pods which are starting are what those will have to do.
func TestStartingPodsCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.Waitlist = 9, 2
		h := newHarness(t, c)
		for range 5 {
			h.call()
		}
		h.wantStarted(1, 2, 3)
		h.ready(1)
	})
}

// Calls fill the first pods, so that the others fall idle.
func TestFirstAvailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.Waitlist, c.PerPod = 3, 2, 3
		h := newHarness(t, c)
		for slot := range 3 {
			h.ready(slot + 1)
		}
		var calls []*call
		for range 10 {
			calls = append(calls, h.call())
		}
		// Up to the waitlist in order, then the least loaded, beginning anywhere, then the queue.
		wantSlots(t, []int{1, 1, 2, 2, 3, 3}, calls[:6]...)
		rest := slots(calls[6:9]...)
		slices.Sort(rest)
		if diff := cmp.Diff([]int{1, 2, 3}, rest); diff != "" {
			t.Errorf("slots of three more calls, sorted (-want +got):\n%s", diff)
		}
		wantSlots(t, []int{0}, calls[9])
		calls[3].place.Release()
		synctest.Wait()
		wantSlots(t, []int{2}, calls[9])
		h.wantStarted()
	})
}

// A call that finds all pods busy has a place at once, and wants another pod for those after it.
func TestScaleUpDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.ready(1)
		wantSlots(t, []int{1, 1}, h.call(), h.call())
		h.wantStarted(2)
	})
}

func TestWaitersInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod, c.MaxWaiting = 1, 1, 3
		h := newHarness(t, c)
		first, second, third := h.call(), h.call(), h.call()
		refused := h.call()
		if full := (*pool.FullError)(nil); !errors.As(refused.err, &full) || full.Waiting != 3 {
			t.Errorf("the fourth: %v", refused.err)
		}
		gone := errors.New("gone")
		second.cancel(gone)
		synctest.Wait()
		if !errors.Is(second.err, gone) {
			t.Errorf("a call whose caller has gone: %v", second.err)
		}
		h.ready(1)
		wantSlots(t, []int{1, 0}, first, third)
		first.place.Release()
		synctest.Wait()
		wantSlots(t, []int{1}, third)
		third.place.Release()
		if diff := cmp.Diff(pool.Stats{Ready: 1}, h.Stats()); diff != "" {
			t.Errorf("after all (-want +got):\n%s", diff)
		}
	})
}

// Calls do not wait for pods that may all never become ready; for one that is not they do.
func TestTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		first, second := h.call(), h.call()
		unschedulable := errors.New("no node has room")
		h.Problem(1, unschedulable)
		synctest.Wait()
		if first.done || second.done {
			t.Error("nobody waits for the pod that may become ready")
		}
		h.Problem(2, unschedulable)
		synctest.Wait()
		third := h.call()
		for i, c := range []*call{first, second, third} {
			if !errors.Is(c.err, unschedulable) {
				t.Errorf("call %d: %v", i+1, c.err)
			}
		}
		h.Problem(1, nil)
		fourth := h.call()
		h.ready(1)
		wantSlots(t, []int{1}, fourth)
		h.wantStarted(1, 2)
	})
}

// A call knows whether a pod had to start for it.
func TestColdCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod = 1, 1
		h := newHarness(t, c)
		cold := h.call()
		time.Sleep(time.Second)
		h.ready(1)
		time.Sleep(time.Second)
		queued := h.call()
		cold.place.Release()
		synctest.Wait()
		queued.place.Release()
		warm := h.call()
		if !cold.place.Cold || queued.place.Cold || warm.place.Cold {
			t.Errorf("cold are %v, %v and %v", cold.place.Cold, queued.place.Cold, warm.place.Cold)
		}
	})
}

func TestUses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.ready(1)
		h.ready(2)
		first := h.call()
		time.Sleep(time.Minute)
		want := []pool.Use{{Slot: 1, Running: 1, Last: time.Now()}, {Slot: 2}}
		if diff := cmp.Diff(want, h.Uses()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		ended := time.Now()
		first.place.Release()
		time.Sleep(time.Minute)
		want = []pool.Use{{Slot: 1, Last: ended}, {Slot: 2}}
		if diff := cmp.Diff(want, h.Uses()); diff != "" {
			t.Errorf("after the call (-want +got):\n%s", diff)
		}
	})
}

// A pod that is in doubt takes no new calls until it is ready again.
func TestSuspect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.ready(1)
		h.ready(2)
		h.Starting(1)
		wantSlots(t, []int{2, 2}, h.call(), h.call())
		h.ready(1)
		wantSlots(t, []int{1}, h.call())
	})
}

func TestWarm(t *testing.T) {
	t.Parallel()
	h := newHarness(t, config())
	h.Warm()
	h.Warm()
	h.wantStarted(1)
}

func TestSetConfig(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod = 1, 1
		h := newHarness(t, c)
		h.ready(1)
		_, waiting := h.call(), h.call()
		wantSlots(t, []int{0}, waiting)
		c.PerPod, c.MaxPods, c.MinPods = 2, 3, 2
		h.SetConfig(c)
		synctest.Wait()
		wantSlots(t, []int{1}, waiting)
		h.wantStarted(2)
	})
}

func TestCallerHasGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := newHarness(t, config())
	if _, err := h.Acquire(ctx); !errors.Is(err, context.Canceled) || len(h.started) > 0 {
		t.Errorf("got %v, started %v", err, h.started)
	}
}
