// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"testing"

	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// A warm call allocates only its lease.
func TestWarmCallAllocates(t *testing.T) { //nolint:paralleltest // what others allocate is counted, too
	c := config()
	c.MaxPods = 3
	h := newHarness(t, c)
	for ordinal := range 3 {
		h.Answered(h.Adopt(ordinal+1), nil)
	}
	ctx := t.Context()
	if got := testing.AllocsPerRun(100, func() {
		lease, err := h.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		lease.Report(3)
		lease.Release()
	}); got != 1 {
		t.Errorf("allocations of a warm call = %v, want 1", got)
	}
}

func BenchmarkWarmCall(b *testing.B) {
	for name, others := range map[string]int{"alone": 0, "among others": 8} {
		b.Run(name, func(b *testing.B) {
			p := pool.New(podname.Identity{}, config(), func(*pool.Pod) {})
			p.Answered(p.Adopt(1), nil)
			p.Answered(p.Adopt(2), nil)
			ctx := b.Context()
			for b.Loop() {
				lease, err := p.Acquire(ctx)
				if err != nil {
					b.Fatal(err)
				}
				lease.Report(1 + others)
				lease.Release()
			}
		})
	}
}
