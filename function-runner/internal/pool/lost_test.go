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

// A pod that dies is replaced for the calls that wait, and a dying one holds its ordinal without counting.
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
		// Other replicas may not know yet that the first ordinal is free.
		h.wantStarted(2, 3)
		h.ready(3)
		wantOrdinals(t, []int{3}, another)
		time.Sleep(time.Minute)
		h.gone(3)
		h.call()
		h.wantStarted(2, 3, 1)
	})
}

// While calls wait, each pod that is lost is replaced, however many are left.
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
					t.Errorf("after all have come: %+v", s)
				}
			})
		})
	}
}

// No more pods replace those that are lost than the calls need that wait, beside those that start.
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

// A pod that cannot be reached holds its ordinal, and is used when it comes back. The calls that it runs stay its own.
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
			t.Errorf("(-want +got):\n%s", diff)
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

// A ordinal whose name is somebody else's is left alone for a while, and another one taken at once.
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
		// Nothing comes of one that nobody wanted.
		h.avoid(7, time.Hour)
		h.wantStarted(1, 2, 3, 2, 1)
	})
}

// Where pods run fewer calls than the waitlist has, the calls that wait want others.
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

// Pods that do not go although they are given up do not grow in number, and callers are told.
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
			t.Errorf("%d pods were requested, want at most 4", failed)
		}
		if undeleted := (*pool.UndeletedError)(nil); !errors.As(last.err, &undeleted) || undeleted.Pods != failed {
			t.Errorf("Acquire() = %v, want that %d pods still exist", last.err, failed)
		}
		h.gone(1)
		h.call()
		if len(h.started) != failed+1 {
			t.Errorf("%d pods were requested after one had gone, want 1", len(h.started)-failed)
		}
	})
}
