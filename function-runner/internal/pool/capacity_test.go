// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sendBack makes a busy pod send a call back. The call then waits for another lease.
func (h *harness) sendBack(c *call) *call {
	c.lease.Busy()
	c.lease.Release()
	return h.callBy(h.Reacquire)
}

// A busy pod gets no further calls until one of its calls ends. Calls that it sends back wait at the head of the queue, even if the queue
// is full.
func TestBusyPodKeepsItsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods, c.MaxWaiting = 1, 1
		h := newHarness(t, c)
		h.ready(1)
		running, busy := h.call(), h.call()
		back := h.sendBack(busy)
		behind := h.call()
		wantOrdinals(t, []int{1, 0, 0}, running, back, behind)
		running.lease.Release()
		synctest.Wait()
		wantOrdinals(t, []int{1, 0}, back, behind)
	})
}

// The pool retries a busy pod with one call at a time and growing pauses. When the pod is no longer busy, its limit rises to the former
// value.
func TestBusyPodIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.MaxPods = 1
		h := newHarness(t, c)
		h.ready(1)
		calls := []*call{h.call(), h.call(), h.call()}
		for i := range calls {
			calls[i] = h.sendBack(calls[i])
		}
		wantOrdinals(t, []int{0, 0, 0}, calls...)
		// The call that was sent back last is at the head of the queue.
		head, tries, begin := calls[2], 0, time.Now()
		for time.Since(begin) < 10*time.Second {
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if h.Stats().Running > 0 {
				tries++
				head = h.sendBack(head)
			}
		}
		if tries < 8 || tries > 25 {
			t.Errorf("retries of a busy pod in 10 s = %d, want about 13", tries)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		wantOrdinals(t, []int{1, 1, 1}, calls[0], calls[1], head)
		got := []int{}
		for range 6 {
			got = append(got, ordinals(h.call())...)
		}
		if diff := cmp.Diff([]int{1, 1, 1, 1, 1, 0}, got); diff != "" {
			t.Errorf("ordinals of 6 more calls (-want +got):\n%s", diff)
		}
	})
}

// Calls that a busy pod has sent back request another pod, and use it when it is ready.
func TestBusyPodIsRelieved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, config())
		h.ready(1)
		back := h.sendBack(h.call())
		h.wantStarted(2)
		h.ready(2)
		wantOrdinals(t, []int{2}, back)
	})
}
