// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package parallel runs a function for many inputs on all processors.
//
// It differs from golang.org/x/sync/errgroup in two ways: the returned error does not depend on timing, and a panic can be
// recovered by the caller, so that a panicking KRM function fails only its own call and not the program.
package parallel

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls do with every number from 0 to n-1, in at most GOMAXPROCS goroutines, and returns when all calls have returned.
// After an error or a panic, it starts no more calls. It returns the error of the lowest number that failed, which is the error
// that sequential calls would return. If a call panics, Each panics with the same value.
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
			// Numbers are taken in order, and every taken number is processed. Therefore all numbers below the lowest one that
			// failed have been processed.
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
