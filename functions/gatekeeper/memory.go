// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

const (
	// maxMemory is the memory by which the process may grow while policies are evaluated, in bytes.
	maxMemory = 1 << 30
	// memoryInterval is the time between two looks at the memory.
	memoryInterval = 5 * time.Millisecond
)

// watchMemory returns a context that ends when the process has grown by more than limit bytes. Rego does not count what its values
// take, so the memory of all that the process does counts. The context ends with stop, too.
func watchMemory(ctx context.Context, limit uint64) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	allowed := heap() + limit
	go func() {
		defer close(done)
		ticker := time.NewTicker(memoryInterval)
		defer ticker.Stop()
		for look := allowed; ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if heap() <= look {
				continue
			}
			// Most of it may be garbage.
			runtime.GC()
			live := heap()
			if live > allowed {
				cancel(fmt.Errorf("the policies take more than %d MiB of memory, the most they may", limit>>20))
				return
			}
			look = live + limit
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-done
	}
}

// heap returns the bytes of the heap, with garbage that has not been collected.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
