// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// The last pod that fails to start tells all that wait; while another is starting they go on waiting.
func TestStartFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		first, second := h.call(), h.call()
		h.wantStarted(1, 2)
		h.abandon(1, errors.New("quota"))
		synctest.Wait()
		if first.done || second.done {
			t.Error("nobody waits for the other pod")
		}
		pull := errors.New("no such image")
		h.failed(2, pull)
		synctest.Wait()
		if !errors.Is(first.err, pull) || !errors.Is(second.err, pull) {
			t.Errorf("got %v, %v", first.err, second.err)
		}
		h.wantStarted(1, 2)
		// After a pause the next call tries anew.
		time.Sleep(2 * time.Second)
		h.call()
		h.wantStarted(1, 2, 1)
	})
}

// A pod that has failed holds its ordinal until it is gone.
func TestFailedPodHoldsItsSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.call()
		h.failed(1, errors.New("exits"))
		synctest.Wait()
		stats := h.Stats()
		if stats.LastFailure == nil {
			t.Error("the failure is not told")
		}
		stats.LastFailure = nil
		if diff := cmp.Diff(pool.Stats{Leaving: 1, BackingOff: true}, stats); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Second)
		h.call()
		h.wantStarted(1, 2)
	})
}

// A pod that has failed is not replaced for the minimum's sake before somebody looks, but one that was well is at once.
func TestMinimumOfFailedPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MinPods = 1
		h := newHarness(t, c)
		h.Fill()
		h.failed(1, errors.New("exits"))
		// Neither within the pause nor after it.
		h.leaving(1)
		h.Fill()
		time.Sleep(2 * time.Second)
		h.gone(1)
		h.wantStarted(1)
		h.Fill()
		h.wantStarted(1, 2)
		h.failed(2, errors.New("exits"))
		time.Sleep(3 * time.Second)
		h.call()
		h.wantStarted(1, 2, 3)
		h.ready(3)
		h.gone(2)
		h.gone(3)
		h.wantStarted(1, 2, 3, 4)
	})
}

var errPull = errors.New("no such image")

// Pods that fail over and over are made ever more seldom, however often a call comes, and each call knows at once why.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(h *harness, ordinal int){
		"not made": func(h *harness, ordinal int) { h.abandon(ordinal, errPull) },
		"failed":   func(h *harness, ordinal int) { h.failed(ordinal, errPull); h.leaving(ordinal); h.gone(ordinal) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := config()
				c.MinPods, c.Waitlist, c.MaxPods = 1, 1, 4
				h := newHarness(t, c)
				begin, failed := time.Now(), 0
				for time.Since(begin) < 10*time.Minute {
					before := time.Now()
					waiting := h.call()
					for ; failed < len(h.started); failed++ {
						fail(h, h.started[failed])
					}
					h.Fill()
					h.Warm()
					synctest.Wait()
					if !errors.Is(waiting.err, errPull) || time.Since(before) > 0 {
						t.Fatalf("after %v: %v, after %v", before.Sub(begin), waiting.err, time.Since(before))
					}
					time.Sleep(100 * time.Millisecond)
				}
				if n := len(h.started); n < 20 || n > 25 {
					t.Errorf("%d pods were wanted in 10 minutes, want 20 to 25", n)
				}
			})
		})
	}
}

// A call that comes too early is told when the next attempt is.
func TestBackoffError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		for want := range 3 {
			h.call()
			h.abandon(1, errPull)
			early := h.call()
			var backoff *pool.BackoffError
			if !errors.As(early.err, &backoff) || !errors.Is(early.err, errPull) {
				t.Fatalf("got %v", early.err)
			}
			pause := time.Second << want
			if got := time.Until(backoff.Until); got < pause || got > pause+pause/10 {
				t.Errorf("the next attempt is in %v, want %v or up to a tenth more", got, pause)
			}
			time.Sleep(time.Until(backoff.Until) - time.Millisecond)
			late := h.call()
			if got, want := late.err.Error(), "no such image: the next attempt is in 1 s"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			time.Sleep(time.Millisecond)
		}
		if h.Stats().BackingOff {
			t.Error("it backs off for too long")
		}
	})
}

// One pod at a time is tried until one is ready. Then the calls that wait have as many as they need.
func TestOneAttemptAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod = 4, 1
		h := newHarness(t, c)
		h.call()
		h.abandon(1, errPull)
		time.Sleep(2 * time.Second)
		for range 6 {
			h.call()
		}
		h.Fill()
		h.wantStarted(1, 1)
		h.ready(1)
		h.wantStarted(1, 1, 2, 3, 4)
		// A failure is the first one again.
		for _, ordinal := range []int{2, 3, 4} {
			h.failed(ordinal, errPull)
		}
		time.Sleep(1100 * time.Millisecond)
		if h.Stats().BackingOff {
			t.Error("pods that were tried together make the pause longer")
		}
	})
}

// What calls have is not lost with what cannot be had: those that are ready go on, and one that comes back takes what waits.
func TestBackoffWithPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod = 3, 1
		h := newHarness(t, c)
		h.ready(1)
		running, waiting := h.call(), h.call()
		h.wantStarted(2)
		h.failed(2, errPull)
		synctest.Wait()
		if waiting.done {
			t.Errorf("the call that may wait for the ready pod got %v", waiting.err)
		}
		h.unreachable(1)
		synctest.Wait()
		if backoff := (*pool.BackoffError)(nil); !errors.As(waiting.err, &backoff) {
			t.Errorf("the call that nothing comes for got %v", waiting.err)
		}
		// That is no start.
		h.ready(1)
		if !h.Stats().BackingOff {
			t.Error("a pod that was there before ended the pause")
		}
		running.lease.Release()
		again := h.call()
		wantOrdinals(t, []int{1}, again)
		again.lease.Release()
		// A pod that was given up can be had in a pause.
		h.Spare(never)
		if !h.expire(1) {
			t.Fatal("it is not given up")
		}
		wantOrdinals(t, []int{1}, h.call())
		h.wantStarted(2)
	})
}

// replaced is an error after which pods are made differently.
type replaced struct{}

func (replaced) Error() string { return "image volumes do not work here" }

func (replaced) Retry() bool { return true }

// An error that says nothing of the next pod makes no pause.
func TestRetriable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		for range 3 {
			c := h.call()
			h.abandon(1, fmt.Errorf("pod: %w", replaced{}))
			synctest.Wait()
			if !errors.As(c.err, &replaced{}) {
				t.Errorf("got %v", c.err)
			}
		}
		h.wantStarted(1, 1, 1)
	})
}

// Failures of pods that were ready say nothing of the next one.
func TestServedPodFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod = 1, 1
		h := newHarness(t, c)
		h.ready(1)
		h.call()
		waiting := h.call()
		h.starting(1)
		h.failed(1, errPull)
		h.wantStarted(2)
		h.ready(2)
		wantOrdinals(t, []int{2}, waiting)
	})
}
