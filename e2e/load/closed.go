// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"sync"
	"time"
)

// Closed is a load of concurrent callers that make calls back to back. It measures throughput. Its latencies are not representative,
// because callers do not start calls while the server stalls.
type Closed struct {
	Calls
	// Callers is the number of concurrent callers.
	Callers int
}

// Run makes calls until the time is over, and returns when the last call has ended. Calls count if they end after the warm-up and within
// the duration. Run returns an error if ctx ends first.
func (c Closed) Run(ctx context.Context, call Call) (*Result, error) {
	recorder := newRecorder(c.Calls)
	begin := time.Now().Add(c.WarmUp)
	end := begin.Add(c.Duration)
	counts := func() bool {
		now := time.Now()
		return !now.Before(begin) && now.Before(end)
	}
	over := make(chan struct{})
	timer := time.AfterFunc(time.Until(end), func() { close(over) })
	defer timer.Stop()
	var running sync.WaitGroup
	for range c.Callers {
		running.Go(func() {
			repeat(ctx, over, 10*time.Millisecond, func(ctx context.Context) error {
				return recorder.make(ctx, call, time.Now(), counts)
			})
		})
	}
	running.Wait()
	return recorder.result, ctx.Err()
}

// repeat makes calls back to back until stop is closed or ctx ends. It pauses after a failed call, because rejected calls end quickly, and
// a tight loop would only measure the load generator.
func repeat(ctx context.Context, stop <-chan struct{}, pause time.Duration, call Call) {
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		default:
		}
		if call(ctx) != nil {
			select {
			case <-time.After(pause):
			case <-stop:
			}
		}
	}
}
