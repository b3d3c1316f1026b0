// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package heap limits the memory of functions that run in this process, which do not count what they take.
package heap

import (
	"context"
	"runtime"
	"runtime/metrics"
	"time"
)

// interval is the time between two measurements.
const interval = 5 * time.Millisecond

// Watch returns a context that ends with cause when the heap of the process has grown by more than limit bytes. The memory of everything
// that the process does counts. The caller must call stop, which also ends the context.
func Watch(ctx context.Context, limit uint64, cause error) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	allowed := size() + limit
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for next := allowed; ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if size() <= next {
				continue
			}
			// Most of it may be garbage.
			runtime.GC()
			live := size()
			if live > allowed {
				cancel(cause)
				return
			}
			next = live + limit
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-done
	}
}

// size returns the size of the heap in bytes, with garbage that has not been collected.
func size() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
