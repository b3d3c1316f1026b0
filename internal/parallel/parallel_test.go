// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package parallel_test

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/internal/parallel"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestEachNumberOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 1000} {
		calls := make([]int, n)
		if err := parallel.Each(n, func(i int) error { calls[i]++; return nil }); err != nil {
			t.Error(err)
		}
		if slices.ContainsFunc(calls, func(c int) bool { return c != 1 }) {
			t.Errorf("n = %d: calls per number = %v, want 1 each", n, calls)
		}
	}
}

// Whatever the timing, Each returns the error of the lowest number, and does not start calls long after it.
func TestEachReturnsTheFirstError(t *testing.T) {
	t.Parallel()
	errFirst, errLater := errors.New("first"), errors.New("later")
	for range 100 {
		var calls atomic.Int64
		err := parallel.Each(10_000, func(i int) error {
			calls.Add(1)
			switch {
			case i == 2:
				runtime.Gosched()
				return errFirst
			case i > 2:
				return errLater
			}
			return nil
		})
		if !errors.Is(err, errFirst) || calls.Load() > int64(3+runtime.GOMAXPROCS(0)) {
			t.Fatalf("Each() = %v after %d calls, want %v", err, calls.Load(), errFirst)
		}
	}
}

func TestEachPanicsInTheCaller(t *testing.T) {
	t.Parallel()
	defer func() {
		if p := recover(); p != "no" {
			t.Errorf("recovered %v, want \"no\"", p)
		}
	}()
	_ = parallel.Each(100, func(i int) error {
		if i == 50 {
			panic("no")
		}
		return nil
	})
}
