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

// never returns that other replicas have not used a pod.
func never(*pool.Pod) time.Time { return time.Time{} }

// idle returns the ordinals of idle pods.
func idle(pods []pool.Idle) []int {
	var out []int
	for _, i := range pods {
		out = append(out, i.Pod.Ordinal)
	}
	return out
}

func wantIdle(t *testing.T, want []int, got []pool.Idle) {
	t.Helper()
	if diff := cmp.Diff(want, idle(got)); diff != "" {
		t.Errorf("idle pods (-want +got):\n%s", diff)
	}
}

// A pod that is busy with calls of other replicas is not idle while a call waits for it.
func TestBusyPodIsNotIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods = 1
		h := newHarness(t, c)
		h.ready(1)
		wantIdle(t, []int{1}, h.Spare(never))
		back := h.sendBack(h.call())
		wantIdle(t, nil, h.Spare(never))
		if h.expire(1) {
			t.Error("expire() of a pod that a call waits for = true, want false")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		wantOrdinals(t, []int{1}, back)
	})
}

// Pods above the maximum expire as soon as they are idle: a pod that comes back after it was replaced, and pods above a lowered maximum.
func TestAboveMaximum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods = 2
		h := newHarness(t, c)
		for ordinal := range 3 {
			h.ready(ordinal + 1)
		}
		busy := h.call()
		wantIdle(t, []int{3}, h.Idle(never))
		if !h.expire(3) {
			t.Error("expire() of a pod above the maximum = false, want true")
		}
		h.leaving(3)
		wantIdle(t, nil, h.Idle(never))
		c.MaxPods = 1
		h.SetConfig(c)
		wantIdle(t, []int{2}, h.Idle(never))
		h.gone(2)
		busy.lease.Release()
		wantIdle(t, nil, h.Idle(never))
	})
}

// Idle and Spare return idle pods, the highest ordinals first, and do not change them. Expire does.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.MinPods = 4, 1
		h := newHarness(t, c)
		h.Fill()
		h.wantStarted(1)
		for ordinal := range 4 {
			h.ready(ordinal + 1)
		}
		begin := time.Now()
		wantIdle(t, nil, h.Idle(never))
		busy := []*call{h.call(), h.call()}
		time.Sleep(2 * time.Minute)
		noted := time.Now().Add(-time.Second)
		others := func(pod *pool.Pod) time.Time {
			if pod.Ordinal == 3 {
				return noted
			}
			return time.Time{}
		}
		if diff := cmp.Diff([]pool.Idle{{Pod: h.Adopt(4), Since: begin}}, h.Idle(others), samePod); diff != "" {
			t.Errorf("Idle() (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]pool.Idle{{Pod: h.Adopt(4), Since: begin}, {Pod: h.Adopt(3), Since: noted}}, h.Spare(others), samePod); diff != "" {
			t.Errorf("Spare() (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(pool.Stats{Ready: 4, Running: 2}, h.Stats()); diff != "" {
			t.Errorf("Stats() after Idle() and Spare() (-want +got):\n%s", diff)
		}
		if !h.expire(4) || h.expire(4) || h.expire(1) {
			t.Error("expire(4), expire(4), expire(1) are not true, false, false")
		}
		wantIdle(t, nil, h.Idle(others))
		h.ready(4)
		wantIdle(t, nil, h.Idle(others))
		for _, c := range busy {
			c.lease.Release()
		}
		time.Sleep(2 * time.Minute)
		wantIdle(t, []int{4, 3, 2}, h.Idle(never))
		for _, ordinal := range []int{4, 3, 2} {
			if !h.expire(ordinal) {
				t.Errorf("expire(%d) = false, want true", ordinal)
			}
		}
		if diff := cmp.Diff(pool.Stats{Ready: 1, Leaving: 3}, h.Stats()); diff != "" {
			t.Errorf("Stats() (-want +got):\n%s", diff)
		}
		for _, ordinal := range []int{4, 3, 2} {
			h.leaving(ordinal)
		}
		// A lost pod of the minimum is replaced.
		h.gone(1)
		h.wantStarted(1, 5)
	})
}

// An expiring pod takes a call before another pod is requested, even if another one is starting.
func TestExpiringPodTakesACall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ starting []int }{"alone": {}, "beside a pod that starts": {[]int{2}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := config()
				c.MaxPods = 3
				h := newHarness(t, c)
				h.ready(1)
				for _, ordinal := range test.starting {
					h.starting(ordinal)
				}
				h.Spare(never)
				if !h.expire(1) {
					t.Fatal("Expire() = false, want true")
				}
				_, taken := h.Adopt(1).Status()
				wantOrdinals(t, []int{1}, h.call())
				h.wantStarted()
				select {
				case <-taken:
				default:
					t.Error("the channel of state expiring is open, want it closed, because the pod is ready again")
				}
			})
		})
	}
}

// Expire rejects pods that are no longer idle, or that the minimum needs.
func TestGiveUpComesTooLate(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(h *harness, before *call){
		"busy":        func(h *harness, _ *call) { h.call() },
		"used":        func(h *harness, _ *call) { h.call().lease.Release() },
		"reported":    func(_ *harness, before *call) { before.lease.Report(3) },
		"unreachable": func(h *harness, _ *call) { h.unreachable(1) },
		"starting":    func(h *harness, _ *call) { h.starting(1) },
		"gone":        func(h *harness, _ *call) { h.gone(1) },
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
				before.lease.Release()
				wantIdle(t, []int{1}, h.Spare(never))
				time.Sleep(time.Millisecond)
				meanwhile(h, before)
				if h.expire(1) {
					t.Errorf("expire() = true, want false: %+v", h.Stats())
				}
			})
		})
	}
}

// An expiring pod takes the calls that waited for a failed pod.
func TestExpiringPodReplacesAFailedOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods = 1
		h := newHarness(t, c)
		h.ready(1)
		h.starting(2)
		h.Spare(never)
		if !h.expire(1) {
			t.Fatal("Expire() = false, want true")
		}
		waiting := h.call()
		wantOrdinals(t, []int{0}, waiting)
		h.failed(2, errPull)
		wantOrdinals(t, []int{1}, waiting)
		h.wantStarted()
	})
}

// After a failure, an expiring pod is not recalled if that would exceed the maximum.
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
		if named := idle(h.Idle(never)); !slices.Contains(named, 2) || !h.expire(2) {
			t.Fatalf("idle ordinals = %v, want 2 among them, and expire(2) = true", named)
		}
		h.starting(1)
		h.call()
		h.call()
		h.starting(3)
		h.failed(3, errStart)
		synctest.Wait()
		h.wantStarted()
	})
}
