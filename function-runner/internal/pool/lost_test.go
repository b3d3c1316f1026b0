// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// A deleted pod is replaced for waiting calls. While it terminates, it holds its ordinal, but does not count towards the maximum.
func TestPodsDie(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod = 1, 1
		h := newHarness(t, c)
		h.ready(1)
		running, waiting := h.call(), h.call()
		h.leaving(1)
		h.wantStarted(2)
		h.ready(2)
		wantOrdinals(t, []int{1, 2}, running, waiting)
		h.gone(1)
		running.lease.Release()
		another := h.call()
		h.gone(2)
		// Other replicas may not know yet that ordinal 1 is free.
		h.wantStarted(2, 3)
		h.ready(3)
		wantOrdinals(t, []int{3}, another)
		time.Sleep(time.Minute)
		h.gone(3)
		h.call()
		h.wantStarted(2, 3, 1)
	})
}

// While calls wait, each lost pod is replaced, however many pods are left.
func TestLostCapacity(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(h *harness, ordinal int){
		"gone":        func(h *harness, ordinal int) { h.gone(ordinal) },
		"leaving":     func(h *harness, ordinal int) { h.leaving(ordinal) },
		"unreachable": func(h *harness, ordinal int) { h.unreachable(ordinal) },
		"failed":      func(h *harness, ordinal int) { h.failed(ordinal, errors.New("exits")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := config()
				c.MaxPods, c.PerPod = 4, 1
				h := newHarness(t, c)
				for ordinal := range 4 {
					h.ready(ordinal + 1)
				}
				for range 20 {
					h.call()
				}
				for _, ordinal := range []int{2, 3, 4} {
					lose(h, ordinal)
				}
				h.wantStarted(5, 6, 7)
				for _, ordinal := range []int{5, 6, 7} {
					h.ready(ordinal)
				}
				if s := h.Stats(); s.Ready != 4 || s.Waiting != 13 {
					t.Errorf("Stats() after the replacement = %+v, want 4 ready pods and 13 waiting calls", s)
				}
			})
		})
	}
}

// Lost pods are replaced only as far as the waiting calls need more pods than are starting.
func TestNoMoreThanIsLacking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod, c.Waitlist = 9, 2, 2
		h := newHarness(t, c)
		h.ready(1)
		h.ready(2)
		for range 7 {
			h.call()
		}
		h.wantStarted(3, 4)
		h.gone(1)
		h.wantStarted(3, 4)
		h.gone(3)
		h.wantStarted(3, 4, 5)
	})
}

// An unreachable pod holds its ordinal, and is used again when it comes back. It keeps its running calls.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod = 1, 2
		h := newHarness(t, c)
		h.ready(1)
		running := h.call()
		h.unreachable(1)
		h.wantStarted()
		if diff := cmp.Diff(pool.Stats{Unreachable: 1, Running: 1}, h.Stats()); diff != "" {
			t.Errorf("Stats() (-want +got):\n%s", diff)
		}
		wantIdle(t, nil, h.Spare(never))
		first, second, third := h.call(), h.call(), h.call()
		wantOrdinals(t, []int{0, 0, 0}, first, second, third)
		h.wantStarted(2)
		h.ready(1)
		wantOrdinals(t, []int{1, 0, 0}, first, second, third)
		running.lease.Release()
		synctest.Wait()
		wantOrdinals(t, []int{1, 0}, second, third)
		h.ready(2)
		wantOrdinals(t, []int{2}, third)
	})
}

// An ordinal whose name another owner's pod has is blocked for a while, and replaced by another ordinal at once.
func TestAvoid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.Warm()
		h.avoid(1, time.Hour)
		h.wantStarted(1, 2)
		waiting := h.call()
		h.avoid(2, time.Minute)
		h.wantStarted(1, 2, 3)
		h.ready(3)
		wantOrdinals(t, []int{3}, waiting)
		h.gone(3)
		time.Sleep(time.Minute)
		h.call()
		h.wantStarted(1, 2, 3, 2)
		time.Sleep(time.Hour)
		h.call()
		h.wantStarted(1, 2, 3, 2, 1)
		// Avoiding an ordinal that the pool has not requested requests no pod.
		h.avoid(7, time.Hour)
		h.wantStarted(1, 2, 3, 2, 1)
	})
}

// If PerPod is below the waitlist, the waiting calls request further pods.
func TestWaitlistAbovePerPod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod, c.Waitlist = 9, 1, 3
		h := newHarness(t, c)
		h.ready(1)
		for range 3 {
			h.call()
		}
		h.wantStarted()
		for range 4 {
			h.call()
		}
		h.wantStarted(2, 3)
	})
}

// The number of deleted pods that still exist is limited, and callers get an error.
func TestUndeletedPodsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods = 1
		h := newHarness(t, c)
		failed := 0
		var last *call
		for range 100 {
			last = h.call()
			for ; failed < len(h.started); failed++ {
				h.failed(h.started[failed], errPull)
			}
			time.Sleep(time.Minute)
		}
		if failed > 4 {
			t.Errorf("pods requested = %d, want at most 4", failed)
		}
		if undeleted := (*pool.UndeletedError)(nil); !errors.As(last.err, &undeleted) || undeleted.Pods != failed {
			t.Errorf("Acquire() = %v, want an UndeletedError with %d pods", last.err, failed)
		}
		h.gone(1)
		h.call()
		if len(h.started) != failed+1 {
			t.Errorf("pods requested after one was removed = %d, want 1", len(h.started)-failed)
		}
	})
}
