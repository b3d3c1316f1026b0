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

// A pod that dies is replaced for the calls that wait, and a dying one holds its slot without counting.
func TestPodsDie(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod = 1, 1
		h := newHarness(t, c)
		h.ready(1)
		running, waiting := h.call(), h.call()
		h.Leaving(1)
		h.wantStarted(2)
		h.ready(2)
		wantSlots(t, []int{1, 2}, running, waiting)
		h.Gone(1)
		running.place.Release()
		another := h.call()
		h.Gone(2)
		// Other replicas may not know yet that the first slot is free.
		h.wantStarted(2, 3)
		h.ready(3)
		wantSlots(t, []int{3}, another)
		time.Sleep(time.Minute)
		h.Gone(3)
		h.call()
		h.wantStarted(2, 3, 1)
	})
}

// While calls wait, each pod that is lost is replaced, however many are left.
func TestLostCapacity(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(h *harness, slot int){
		"gone":        func(h *harness, slot int) { h.Gone(slot) },
		"leaving":     func(h *harness, slot int) { h.Leaving(slot) },
		"unreachable": func(h *harness, slot int) { h.Unreachable(slot) },
		"failed":      func(h *harness, slot int) { h.Failed(slot, errors.New("exits")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := config()
				c.MaxPods, c.PerPod = 4, 1
				h := newHarness(t, c)
				for slot := range 4 {
					h.ready(slot + 1)
				}
				for range 20 {
					h.call()
				}
				for _, slot := range []int{2, 3, 4} {
					lose(h, slot)
				}
				h.wantStarted(5, 6, 7)
				for _, slot := range []int{5, 6, 7} {
					h.ready(slot)
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
		h.Gone(1)
		h.wantStarted(3, 4)
		h.Gone(3)
		h.wantStarted(3, 4, 5)
	})
}

// A pod that cannot be reached holds its slot, and is used when it comes back. The calls that it runs stay its own.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.PerPod = 1, 2
		h := newHarness(t, c)
		h.ready(1)
		running := h.call()
		h.Unreachable(1)
		h.wantStarted()
		if diff := cmp.Diff(pool.Stats{Unreachable: 1, Running: 1}, h.Stats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		wantIdle(t, nil, h.Spare(never))
		first, second, third := h.call(), h.call(), h.call()
		wantSlots(t, []int{0, 0, 0}, first, second, third)
		h.wantStarted(2)
		h.ready(1)
		wantSlots(t, []int{1, 0, 0}, first, second, third)
		running.place.Release()
		synctest.Wait()
		wantSlots(t, []int{1, 0}, second, third)
		h.ready(2)
		wantSlots(t, []int{2}, third)
	})
}

// A slot whose name is somebody else's is left alone for a while, and another one taken at once.
func TestAvoid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.Warm()
		h.Avoid(1, time.Hour)
		h.wantStarted(1, 2)
		waiting := h.call()
		h.Avoid(2, time.Minute)
		h.wantStarted(1, 2, 3)
		h.ready(3)
		wantSlots(t, []int{3}, waiting)
		h.Gone(3)
		time.Sleep(time.Minute)
		h.call()
		h.wantStarted(1, 2, 3, 2)
		time.Sleep(time.Hour)
		h.call()
		h.wantStarted(1, 2, 3, 2, 1)
		// Nothing comes of one that nobody wanted.
		h.Avoid(7, time.Hour)
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
