// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/services/evaluation"
)

// The default number of concurrent evaluations is one per 128 MiB of memory, between 1 and 8.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	for limit, want := range map[uint64]int{0: 1, 64 << 20: 1, 256<<20 - 1: 1, 256 << 20: 2, 1 << 30: 8, 64 << 30: 8} {
		if got := concurrency(limit, nil); got != want {
			t.Errorf("concurrency(%d) = %d, want %d", limit, got, want)
		}
	}
	if got := concurrency(0, memlimit.ErrNoLimit); got != 8 {
		t.Errorf("concurrency() without a limit = %d, want 8", got)
	}
}

// Memory is returned once after evaluations, when none runs.
func TestMemoryIsReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := middleware.NewGate(1, 1)
		m, freed := newMemory(gate), new(atomic.Int64)
		m.free = func() { freed.Add(1) }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.run(ctx)
		}()
		want := func(when string, n int64) {
			t.Helper()
			synctest.Wait()
			if got := freed.Load(); got != n {
				t.Errorf("%s: memory was returned %d times, want %d", when, got, n)
			}
		}
		evaluate := func(took time.Duration) {
			e := gate.Limit(m.counted(evaluation.Func(func(context.Context, evaluation.Request) (evaluation.Response, error) {
				time.Sleep(took) // synctest's clock
				return evaluation.Response{}, nil
			})))
			if _, err := e.Evaluate(ctx, evaluation.Request{}); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(10 * idleTime)
		want("before the first evaluation", 0)
		evaluate(10 * idleTime)
		want("during an evaluation", 0)
		for range 10 {
			time.Sleep(idleTime / 2)
			evaluate(0)
		}
		want("between evaluations", 0)
		time.Sleep(3 * idleTime)
		want("after the evaluations", 1)
		time.Sleep(10 * idleTime)
		want("long after the evaluations", 1)
		evaluate(0)
		time.Sleep(3 * idleTime)
		want("after another evaluation", 2)
		cancel()
		<-done
	})
}
