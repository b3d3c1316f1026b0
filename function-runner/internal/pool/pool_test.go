// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

func config() pool.Config {
	return pool.Config{MaxPods: 2, Waitlist: 1, PerPod: 8, MaxWaiting: 100, TTL: time.Minute}
}

// harness is a pool whose pods the tests identify by their ordinals.
type harness struct {
	t *testing.T
	*pool.Pool
	// started holds the ordinals of the requested pods, in order.
	started []int
}

func newHarness(t *testing.T, c pool.Config) *harness {
	t.Helper()
	h := &harness{t: t}
	h.Pool = pool.New(podname.Identity{}, c, func(pod *pool.Pod) { h.started = append(h.started, pod.Ordinal) })
	return h
}

// apply applies an event to the pod with an ordinal, and fails the test if the state does not change.
func (h *harness) apply(ordinal int, event lifecycle.Event, reason error) {
	h.t.Helper()
	pod := h.Adopt(ordinal)
	if state := pod.State(); !h.Apply(pod, event, reason) {
		h.t.Fatalf("Apply(%s) to pod %d in state %s = false, want true", event, ordinal, state)
	}
	synctest.Wait()
}

// ready makes the pod with an ordinal ready, with event Answered or Kept.
func (h *harness) ready(ordinal int) {
	h.t.Helper()
	if pod := h.Adopt(ordinal); pod.In(lifecycle.Expiring) {
		h.apply(ordinal, lifecycle.Kept, nil)
	} else {
		h.Answered(pod, nil)
		synctest.Wait()
	}
}

// starting moves the pod with an ordinal to state starting, with event Created or Suspected.
func (h *harness) starting(ordinal int) {
	h.t.Helper()
	if h.Adopt(ordinal).In(lifecycle.Ready) {
		h.apply(ordinal, lifecycle.Suspected, nil)
	} else {
		h.apply(ordinal, lifecycle.Created, nil)
	}
}

func (h *harness) unreachable(ordinal int) {
	h.t.Helper()
	h.apply(ordinal, lifecycle.Lost, nil)
}

func (h *harness) leaving(ordinal int) {
	h.t.Helper()
	h.apply(ordinal, lifecycle.Deleted, nil)
}

func (h *harness) failed(ordinal int, reason error) {
	h.t.Helper()
	h.apply(ordinal, lifecycle.Broken, reason)
}

func (h *harness) abandon(ordinal int, reason error) { h.Abandon(h.Adopt(ordinal), reason) }

func (h *harness) gone(ordinal int) { h.Remove(h.Adopt(ordinal)) }

func (h *harness) problem(ordinal int, problem error) { h.SetProblem(h.Adopt(ordinal), problem) }

func (h *harness) avoid(ordinal int, d time.Duration) { h.Avoid(h.Adopt(ordinal), d) }

func (h *harness) expire(ordinal int) bool { return h.Expire(h.Adopt(ordinal)) }

// call is a call that waits for a lease, has a lease, or has failed.
type call struct {
	lease  *pool.Lease
	err    error
	done   bool
	cancel context.CancelCauseFunc
}

// call starts a call, and returns when the call has an answer or waits. It must run in a bubble.
func (h *harness) call() *call { return h.callBy(h.Acquire) }

func (h *harness) callBy(acquire func(context.Context) (*pool.Lease, error)) *call {
	ctx, cancel := context.WithCancelCause(h.t.Context())
	c := &call{cancel: cancel}
	go func() {
		c.lease, c.err = acquire(ctx)
		c.done = true
	}()
	synctest.Wait()
	return c
}

func (h *harness) wantStarted(ordinals ...int) {
	h.t.Helper()
	if diff := cmp.Diff(ordinals, h.started); diff != "" {
		h.t.Errorf("started ordinals (-want +got):\n%s", diff)
	}
}

// ordinals returns the ordinals of the pods in which calls run, with 0 for a call without a lease.
func ordinals(calls ...*call) []int {
	var out []int
	for _, c := range calls {
		ordinal := 0
		if c.lease != nil {
			ordinal = c.lease.Pod.Ordinal
		}
		out = append(out, ordinal)
	}
	return out
}

func wantOrdinals(t *testing.T, want []int, calls ...*call) {
	t.Helper()
	if diff := cmp.Diff(want, ordinals(calls...)); diff != "" {
		t.Errorf("ordinals of the calls (-want +got):\n%s", diff)
	}
}

// With a waitlist of one and two pods, four concurrent calls request two pods, as in Porch.
func TestFourCallsTwoPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		calls := []*call{h.call(), h.call(), h.call(), h.call()}
		h.wantStarted(1, 2)
		h.ready(2)
		// The first ready pod takes all waiting calls.
		wantOrdinals(t, []int{2, 2, 2, 2}, calls...)
		h.ready(1)
		wantOrdinals(t, []int{1}, h.call())
		h.wantStarted(1, 2)
	})
}

// Waiting calls count towards the starting pods, which will take them.
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

// Calls fill the pods with the lowest ordinals first, so that the others become idle.
func TestFirstAvailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.Waitlist, c.PerPod = 3, 2, 3
		h := newHarness(t, c)
		for ordinal := range 3 {
			h.ready(ordinal + 1)
		}
		var calls []*call
		for range 10 {
			calls = append(calls, h.call())
		}
		// The pods are filled up to the waitlist in order. Then calls go to the least loaded pod, starting anywhere, and then to the
		// queue.
		wantOrdinals(t, []int{1, 1, 2, 2, 3, 3}, calls[:6]...)
		rest := ordinals(calls[6:9]...)
		slices.Sort(rest)
		if diff := cmp.Diff([]int{1, 2, 3}, rest); diff != "" {
			t.Errorf("ordinals of three more calls, sorted (-want +got):\n%s", diff)
		}
		wantOrdinals(t, []int{0}, calls[9])
		calls[3].lease.Release()
		synctest.Wait()
		wantOrdinals(t, []int{2}, calls[9])
		h.wantStarted()
	})
}

// A call that finds all pods saturated gets a lease at once, and requests another pod for later calls.
func TestScaleUpDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.ready(1)
		wantOrdinals(t, []int{1, 1}, h.call(), h.call())
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
			t.Errorf("error of the fourth call = %v, want a FullError with 3 waiting calls", refused.err)
		}
		gone := errors.New("gone")
		second.cancel(gone)
		synctest.Wait()
		if !errors.Is(second.err, gone) {
			t.Errorf("error of the cancelled call = %v, want its cause", second.err)
		}
		h.ready(1)
		wantOrdinals(t, []int{1, 0}, first, third)
		first.lease.Release()
		synctest.Wait()
		wantOrdinals(t, []int{1}, third)
		third.lease.Release()
		if diff := cmp.Diff(pool.Stats{Ready: 1}, h.Stats()); diff != "" {
			t.Errorf("Stats() after all calls (-want +got):\n%s", diff)
		}
	})
}

// Calls fail if all live pods have problems, but wait while one pod has none.
func TestTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		first, second := h.call(), h.call()
		unschedulable := errors.New("no node has room")
		h.problem(1, unschedulable)
		synctest.Wait()
		if first.done || second.done {
			t.Error("the calls failed although a pod may become ready")
		}
		h.problem(2, unschedulable)
		synctest.Wait()
		third := h.call()
		for i, c := range []*call{first, second, third} {
			if !errors.Is(c.err, unschedulable) {
				t.Errorf("error of call %d = %v, want the problem", i+1, c.err)
			}
		}
		h.problem(1, nil)
		fourth := h.call()
		h.ready(1)
		wantOrdinals(t, []int{1}, fourth)
		h.wantStarted(1, 2)
	})
}

// Cold reports whether a call has waited for a pod to start.
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
		cold.lease.Release()
		synctest.Wait()
		queued.lease.Release()
		warm := h.call()
		if !cold.lease.Cold || queued.lease.Cold || warm.lease.Cold {
			t.Errorf("Cold = %v, %v, %v, want true, false, false", cold.lease.Cold, queued.lease.Cold, warm.lease.Cold)
		}
	})
}

// samePod compares pods by identity.
var samePod = cmp.Comparer(func(a, b *pool.Pod) bool { return a == b })

func TestUses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.ready(1)
		h.ready(2)
		first := h.call()
		time.Sleep(time.Minute)
		want := []pool.Use{{Pod: h.Adopt(1), Running: 1, Last: time.Now()}, {Pod: h.Adopt(2)}}
		if diff := cmp.Diff(want, h.Uses(), samePod); diff != "" {
			t.Errorf("Uses() (-want +got):\n%s", diff)
		}
		ended := time.Now()
		first.lease.Release()
		time.Sleep(time.Minute)
		want = []pool.Use{{Pod: h.Adopt(1), Last: ended}, {Pod: h.Adopt(2)}}
		if diff := cmp.Diff(want, h.Uses(), samePod); diff != "" {
			t.Errorf("Uses() after the call (-want +got):\n%s", diff)
		}
	})
}

// A suspect pod takes no new calls until it is ready again.
func TestSuspect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.ready(1)
		h.ready(2)
		h.starting(1)
		wantOrdinals(t, []int{2, 2}, h.call(), h.call())
		h.ready(1)
		wantOrdinals(t, []int{1}, h.call())
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
		wantOrdinals(t, []int{0}, waiting)
		c.PerPod, c.MaxPods, c.MinPods = 2, 3, 2
		h.SetConfig(c)
		synctest.Wait()
		wantOrdinals(t, []int{1}, waiting)
		h.wantStarted(2)
	})
}

func TestCallerHasGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := newHarness(t, config())
	if _, err := h.Acquire(ctx); !errors.Is(err, context.Canceled) || len(h.started) > 0 {
		t.Errorf("Acquire() = %v, requested pods = %v, want Canceled and none", err, h.started)
	}
}
