// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package parallel does many small things at once.
//
// It is not golang.org/x/sync/errgroup because that returns the error that comes first, which changes from run to run, and a
// panic in one of its goroutines ends the program, where a function that panics is a failure of its call only.
package parallel

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls do with all numbers from 0 to n-1, as many at once as there are processors, and returns when all calls have.
// After an error it begins no more calls. The error is the one that calls one after the other would end with: that of the
// lowest number that has one. A call that panics does so in the caller's goroutine, where it can be recovered.
func Each(n int, do func(i int) error) error {
	var (
		workers sync.WaitGroup
		next    atomic.Int64
		failed  atomic.Bool
		panics  atomic.Pointer[any]
		errs    = make([]error, n)
	)
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					failed.Store(true)
					panics.CompareAndSwap(nil, &p)
				}
			}()
			// Numbers are taken in order, and each that is taken is done, so that none before the lowest error is left out.
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = do(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	workers.Wait()
	if p := panics.Load(); p != nil {
		panic(*p)
	}
	return cmp.Or(errs...)
}
