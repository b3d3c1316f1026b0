// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// report makes the pod with an ordinal report calls of other replicas. No other pod may be ready.
func (h *harness) report(ordinal, load int) {
	h.t.Helper()
	h.ready(ordinal)
	c := h.call()
	if c.lease == nil || c.lease.Pod.Ordinal != ordinal {
		h.t.Fatalf("the call for ordinal %d runs in %v", ordinal, ordinals(c))
	}
	// The report includes this call.
	c.lease.Report(load + 1)
	c.lease.Release()
}

// loaded makes pods ready that have reported calls of other replicas, by ordinal.
func loaded(h *harness, loads ...int) {
	h.t.Helper()
	for i, load := range loads {
		h.report(i+1, load)
		h.starting(i + 1)
	}
	for i := range loads {
		h.ready(i + 1)
	}
}

// Calls go to the pod with the lowest total load, and request another pod if all pods are saturated.
func TestLoadOfOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		waitlist, perPod  int
		loads             []int
		after             time.Duration
		ordinals, started []int
	}{
		"none":                            {2, 4, []int{0, 0}, 0, []int{1, 1, 2, 2}, nil},
		"the first is busy":               {2, 4, []int{2, 0}, 0, []int{2, 2}, nil},
		"the first has room":              {3, 4, []int{2, 0}, 0, []int{1, 2}, nil},
		"all have enough to do":           {1, 9, []int{4, 2, 6}, 0, []int{2, 2}, []int{4}},
		"all full, a place is a place":    {1, 2, []int{8, 11}, 0, []int{1, 1, 2, 2, 0}, []int{3}},
		"full, whatever the waitlist":     {9, 2, []int{8, 0}, 0, []int{2, 2, 1, 1, 0}, nil},
		"half of it after a second":       {3, 9, []int{4, 0}, time.Second, []int{1, 2}, nil},
		"as good as one after three":      {1, 9, []int{4, 0}, 3 * time.Second, []int{2}, nil},
		"as good as none soon after that": {1, 9, []int{4, 0}, 3100 * time.Millisecond, []int{1, 2}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := config()
				c.MaxPods, c.Waitlist, c.PerPod = 20, test.waitlist, test.perPod
				h := newHarness(t, c)
				loaded(h, test.loads...)
				time.Sleep(test.after)
				var got []int
				for range test.ordinals {
					got = append(got, ordinals(h.call())...)
				}
				if diff := cmp.Diff(test.ordinals, got); diff != "" {
					t.Errorf("ordinals of the calls (-want +got):\n%s", diff)
				}
				h.wantStarted(test.started...)
			})
		})
	}
}

// Reported calls of this replica do not count as calls of other replicas.
func TestOwnLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := config()
		c.Waitlist = 3
		h := newHarness(t, c)
		h.ready(1)
		h.ready(2)
		first, second := h.call(), h.call()
		first.lease.Report(1)
		second.lease.Report(2)
		wantOrdinals(t, []int{1, 2}, h.call(), h.call())
		second.lease.Report(9)
		first.lease.Release()
		second.lease.Report(1)
		wantOrdinals(t, []int{1}, h.call())
	})
}

// Replicas with the same information do not all choose the same pod.
func TestNoHerd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		chosen := map[int]int{}
		for range 60 {
			h := newHarness(t, config())
			h.starting(3)
			loaded(h, 5, 5)
			chosen[h.call().lease.Pod.Ordinal]++
		}
		if len(chosen) != 2 {
			t.Errorf("pods chosen by 60 replicas = %v, want both", chosen)
		}
	})
}
