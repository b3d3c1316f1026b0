// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// never says that others have not used a pod.
func never(int) time.Time { return time.Time{} }

// idle returns the slots of idle pods.
func idle(pods []pool.Idle) []int {
	var out []int
	for _, i := range pods {
		out = append(out, i.Slot)
	}
	return out
}

func wantIdle(t *testing.T, want []int, got []pool.Idle) {
	t.Helper()
	if diff := cmp.Diff(want, idle(got)); diff != "" {
		t.Errorf("idle pods (-want +got):\n%s", diff)
	}
}

// A pod that comes back after another was made in its place is one too many, and so are those above a lower maximum: they go as
// soon as they are idle, and no others.
func TestAboveMaximum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods = 2
		h := newHarness(t, c)
		for slot := range 3 {
			h.ready(slot + 1)
		}
		busy := h.call()
		wantIdle(t, []int{3}, h.Idle(never))
		if !h.GiveUp(3) {
			t.Error("what is one too many was not given up")
		}
		h.Leaving(3)
		wantIdle(t, nil, h.Idle(never))
		c.MaxPods = 1
		h.SetConfig(c)
		wantIdle(t, []int{2}, h.Idle(never))
		h.Gone(2)
		busy.place.Release()
		wantIdle(t, nil, h.Idle(never))
	})
}

// What is idle is told, the last slots first, and changes by nothing but GiveUp.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.MinPods = 4, 1
		h := newHarness(t, c)
		h.Fill()
		h.wantStarted(1)
		for slot := range 4 {
			h.ready(slot + 1)
		}
		begin := time.Now()
		wantIdle(t, nil, h.Idle(never))
		busy := []*call{h.call(), h.call()}
		time.Sleep(2 * time.Minute)
		noted := time.Now().Add(-time.Second)
		others := func(slot int) time.Time {
			if slot == 3 {
				return noted
			}
			return time.Time{}
		}
		if diff := cmp.Diff([]pool.Idle{{Slot: 4, Since: begin}}, h.Idle(others)); diff != "" {
			t.Errorf("idle for longer than the TTL (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]pool.Idle{{Slot: 4, Since: begin}, {Slot: 3, Since: noted}}, h.Spare(others)); diff != "" {
			t.Errorf("idle (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(pool.Stats{Ready: 4, Running: 2}, h.Stats()); diff != "" {
			t.Errorf("after a look (-want +got):\n%s", diff)
		}
		if !h.GiveUp(4) || h.GiveUp(4) || h.GiveUp(1) {
			t.Error("given up is not just what is idle")
		}
		wantIdle(t, nil, h.Idle(others))
		h.Keep(4)
		wantIdle(t, nil, h.Idle(others))
		for _, c := range busy {
			c.place.Release()
		}
		time.Sleep(2 * time.Minute)
		wantIdle(t, []int{4, 3, 2}, h.Idle(never))
		for _, slot := range []int{4, 3, 2} {
			if !h.GiveUp(slot) {
				t.Errorf("slot %d is not given up", slot)
			}
		}
		if diff := cmp.Diff(pool.Stats{Ready: 1, Leaving: 3}, h.Stats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, slot := range []int{4, 3, 2} {
			h.Leaving(slot)
		}
		// The minimum is kept whatever happens.
		h.Gone(1)
		h.wantStarted(1, 5)
	})
}

// A pod that is given up is wanted back before another is made.
func TestWantedBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// then is what comes of the deletion.
		then func(h *harness)
		// started and slot are what was wanted, and where the call runs, once the second slot is ready.
		started []int
		slot    int
	}{
		"kept":    {func(h *harness) { h.Keep(1) }, []int{1}, 1},
		"ready":   {func(h *harness) { h.Ready(1, "i") }, []int{1}, 1},
		"leaving": {func(h *harness) { h.Leaving(1) }, []int{1, 2}, 2},
		"gone":    {func(h *harness) { h.Gone(1) }, []int{1, 2}, 2},
		"lost":    {func(h *harness) { h.Unreachable(1) }, []int{1, 2}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, config())
				h.ready(1)
				wantIdle(t, []int{1}, h.Spare(never))
				if !h.GiveUp(1) {
					t.Fatal("it is not given up")
				}
				waiting := h.call()
				wantSlots(t, []int{0}, waiting)
				h.wantStarted(1)
				if diff := cmp.Diff(pool.Stats{Starting: 1, Waiting: 1}, h.Stats()); diff != "" {
					t.Errorf("while it is wanted back (-want +got):\n%s", diff)
				}
				test.then(h)
				h.wantStarted(test.started...)
				if test.slot == 2 {
					h.ready(2)
				}
				synctest.Wait()
				wantSlots(t, []int{test.slot}, waiting)
			})
		})
	}
}

// A call that waits for a pod which is starting takes one that was given up meanwhile, which is sooner there.
func TestWantedBackBesideAStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods = 3
		h := newHarness(t, c)
		h.ready(1)
		h.Starting(2)
		h.Spare(never)
		if !h.GiveUp(1) {
			t.Fatal("it is not given up")
		}
		waiting := h.call()
		h.wantStarted(1)
		h.Keep(1)
		synctest.Wait()
		wantSlots(t, []int{1}, waiting)
	})
}

// What is no longer idle, or no longer too many, is not given up.
func TestGiveUpComesTooLate(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(h *harness, before *call){
		"busy":        func(h *harness, _ *call) { h.call() },
		"used":        func(h *harness, _ *call) { h.call().place.Release() },
		"reported":    func(_ *harness, before *call) { before.place.Report(3) },
		"unreachable": func(h *harness, _ *call) { h.Unreachable(1) },
		"starting":    func(h *harness, _ *call) { h.Starting(1) },
		"gone":        func(h *harness, _ *call) { h.Gone(1) },
		"minimum": func(h *harness, _ *call) {
			c := config()
			c.MinPods = 1
			h.SetConfig(c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, config())
				h.ready(1)
				before := h.call()
				before.place.Release()
				wantIdle(t, []int{1}, h.Spare(never))
				time.Sleep(time.Millisecond)
				meanwhile(h, before)
				if h.GiveUp(1) {
					t.Errorf("it is given up: %+v", h.Stats())
				}
			})
		})
	}
}

// Keep is for pods that were given up only.
func TestKeepOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.Starting(1)
		h.ready(2)
		h.Leaving(2)
		// This one was wanted back and has come, but is in doubt since.
		h.ready(3)
		h.Spare(never)
		if !h.GiveUp(3) {
			t.Fatal("it is not given up")
		}
		h.call()
		h.ready(3)
		h.Starting(3)
		for slot := range 4 {
			h.Keep(slot + 1)
		}
		if diff := cmp.Diff(pool.Stats{Starting: 2, Leaving: 1, Running: 1}, h.Stats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A pod that was given up takes the calls that waited for one that has failed, though it is one too many.
func TestWantedBackAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods = 1
		h := newHarness(t, c)
		h.ready(1)
		h.Starting(2)
		h.Spare(never)
		if !h.GiveUp(1) {
			t.Fatal("it is not given up")
		}
		waiting := h.call()
		h.wantStarted()
		h.Failed(2, errPull)
		h.wantStarted(1)
		h.Keep(1)
		synctest.Wait()
		wantSlots(t, []int{1}, waiting)
	})
}

// A pod that was given up is not wanted back where there are as many pods as may be, though another one has failed.
func TestNotWantedBackAboveMaximum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		h := newHarness(t, c)
		h.ready(1)
		h.ready(2)
		time.Sleep(c.TTL)
		c.MaxPods = 1
		h.SetConfig(c)
		if named := idle(h.Idle(never)); !slices.Contains(named, 2) || !h.GiveUp(2) {
			t.Fatalf("slots %v are idle, want the second, to give it up", named)
		}
		h.Starting(1)
		h.call()
		h.call()
		h.Starting(3)
		h.Failed(3, errStart)
		synctest.Wait()
		h.wantStarted()
	})
}
