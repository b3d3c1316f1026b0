// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package heap limits the memory of functions that run in this process and do not limit it themselves.
package heap

import (
	"context"
	"runtime"
	"runtime/metrics"
	"time"
)

// interval is the time between two measurements.
const interval = 5 * time.Millisecond

// WatchGrowth returns a context that ends with cause when the process's live heap has grown by more than limit bytes. The heap includes
// all goroutines of the process. The caller must call stop, which also ends the context.
func WatchGrowth(ctx context.Context, limit uint64, cause error) (_ context.Context, stop func()) {
	allowed := size() + limit
	next := allowed
	return watch(ctx, cause, func() bool {
		if size() <= next {
			return false
		}
		runtime.GC()
		live := size()
		next = live + limit
		return live > allowed
	})
}

// WatchSize returns a context that ends with cause when the process's heap, including garbage, exceeds limit bytes. It notices a large
// allocation before the process has written to the memory. The caller must call stop, which also ends the context.
func WatchSize(ctx context.Context, limit uint64, cause error) (_ context.Context, stop func()) {
	return watch(ctx, cause, func() bool { return size() > limit })
}

func watch(ctx context.Context, cause error, exceeded func() bool) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if exceeded() {
				cancel(cause)
				return
			}
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-done
	}
}

// size returns the size of the heap in bytes, including garbage.
func size() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
