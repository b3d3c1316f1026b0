// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"testing"

	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// A warm call costs its place and nothing else.
func TestWarmCallAllocates(t *testing.T) { //nolint:paralleltest // what others allocate is counted, too
	c := config()
	c.MaxPods = 3
	h := newHarness(t, c)
	for slot := range 3 {
		h.Ready(slot+1, "i")
	}
	ctx := t.Context()
	if got := testing.AllocsPerRun(100, func() {
		place, err := h.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		place.Report(3)
		place.Release()
	}); got != 1 {
		t.Errorf("a warm call makes %v objects, want its place", got)
	}
}

func BenchmarkWarmCall(b *testing.B) {
	for name, others := range map[string]int{"alone": 0, "among others": 8} {
		b.Run(name, func(b *testing.B) {
			p := pool.New[string](config(), func(int) {})
			p.Ready(1, "i")
			p.Ready(2, "ii")
			ctx := b.Context()
			for b.Loop() {
				place, err := p.Acquire(ctx)
				if err != nil {
					b.Fatal(err)
				}
				place.Report(1 + others)
				place.Release()
			}
		})
	}
}
