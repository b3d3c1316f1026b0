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

// The waiting calls fail when the last starting pod fails, and keep waiting while another one is starting.
func TestStartFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		first, second := h.call(), h.call()
		h.wantStarted(1, 2)
		h.abandon(1, errors.New("quota"))
		synctest.Wait()
		if first.done || second.done {
			t.Error("the calls failed although another pod is starting")
		}
		pull := errors.New("no such image")
		h.failed(2, pull)
		synctest.Wait()
		if !errors.Is(first.err, pull) || !errors.Is(second.err, pull) {
			t.Errorf("call errors = %v, %v, want %v", first.err, second.err, pull)
		}
		h.wantStarted(1, 2)
		// After the backoff, the next call requests a pod again.
		time.Sleep(2 * time.Second)
		h.call()
		h.wantStarted(1, 2, 1)
	})
}

// A failed pod holds its ordinal until it is removed.
func TestFailedPodHoldsItsSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.call()
		h.failed(1, errors.New("exits"))
		synctest.Wait()
		stats := h.Stats()
		if stats.LastFailure == nil {
			t.Error("LastFailure = nil, want the failure")
		}
		stats.LastFailure = nil
		if diff := cmp.Diff(pool.Stats{Leaving: 1, BackingOff: true}, stats); diff != "" {
			t.Errorf("Stats() (-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Second)
		h.call()
		h.wantStarted(1, 2)
	})
}

// A pod that has failed before it was ready is replaced for the minimum only by Fill. A pod that was ready is replaced at once.
func TestMinimumOfFailedPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MinPods = 1
		h := newHarness(t, c)
		h.Fill()
		h.failed(1, errors.New("exits"))
		// The minimum is restored neither during the backoff nor when the pod is removed.
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

// Pods that keep failing are requested with growing backoffs, however many calls arrive, and each call fails at once with the reason.
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
						t.Fatalf("call after %v = %v after waiting %v, want errPull at once", before.Sub(begin), waiting.err, time.Since(before))
					}
					time.Sleep(100 * time.Millisecond)
				}
				if n := len(h.started); n < 20 || n > 25 {
					t.Errorf("pods requested in 10 minutes = %d, want 20 to 25", n)
				}
			})
		})
	}
}

// A call during the backoff gets the time of the next attempt.
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
				t.Fatalf("call error = %v, want a BackoffError with errPull", early.err)
			}
			pause := time.Second << want
			if got := time.Until(backoff.Until); got < pause || got > pause+pause/10 {
				t.Errorf("the next attempt is in %v, want %v or up to 10%% more", got, pause)
			}
			time.Sleep(time.Until(backoff.Until) - time.Millisecond)
			late := h.call()
			if got, want := late.err.Error(), "no such image: the next attempt is in 1 s"; got != want {
				t.Errorf("call error = %q, want %q", got, want)
			}
			time.Sleep(time.Millisecond)
		}
		if h.Stats().BackingOff {
			t.Error("BackingOff = true after the backoff, want false")
		}
	})
}

// After a failure, the pool requests one pod at a time until one is ready. Then it requests all pods that the waiting calls need.
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
		// After a start, the next failure counts as the first one.
		for _, ordinal := range []int{2, 3, 4} {
			h.failed(ordinal, errPull)
		}
		time.Sleep(1100 * time.Millisecond)
		if h.Stats().BackingOff {
			t.Error("failures of pods that were requested together extend the backoff")
		}
	})
}

// A backoff does not affect existing pods: ready pods keep running calls, and a pod that comes back takes waiting calls.
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
			t.Errorf("the call that waits for the ready pod failed with %v", waiting.err)
		}
		h.unreachable(1)
		synctest.Wait()
		if backoff := (*pool.BackoffError)(nil); !errors.As(waiting.err, &backoff) {
			t.Errorf("error of the call without any pod = %v, want a BackoffError", waiting.err)
		}
		// A pod that was ready before does not end the backoff.
		h.ready(1)
		if !h.Stats().BackingOff {
			t.Error("BackingOff = false after an old pod came back, want true")
		}
		running.lease.Release()
		again := h.call()
		wantOrdinals(t, []int{1}, again)
		again.lease.Release()
		// An expiring pod can be recalled during the backoff.
		h.Spare(never)
		if !h.expire(1) {
			t.Fatal("expire() = false, want true")
		}
		wantOrdinals(t, []int{1}, h.call())
		h.wantStarted(2)
	})
}

// replaced is a retriable error.
type replaced struct{}

func (replaced) Error() string { return "image volumes do not work here" }

func (replaced) Retry() bool { return true }

// A retriable error causes no backoff.
func TestRetriable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		for range 3 {
			c := h.call()
			h.abandon(1, fmt.Errorf("pod: %w", replaced{}))
			synctest.Wait()
			if !errors.As(c.err, &replaced{}) {
				t.Errorf("call error = %v, want the retriable error", c.err)
			}
		}
		h.wantStarted(1, 1, 1)
	})
}

// A failed pod that was ready before causes no backoff.
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
