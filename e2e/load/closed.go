// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"sync"
	"time"
)

// Closed has a number of callers, each of which makes its next call as soon as the one before has ended. It is for
// throughput: latencies say little, because a server that stalls is not called meanwhile.
type Closed struct {
	Calls
	// Callers is how many there are.
	Callers int
}

// Run makes calls until the time is over, and returns when the last has ended. Calls count that end within the time. The
// error is that ctx has ended before.
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

// repeat makes one call after the other until stop is closed or ctx ends. It pauses after a call that failed: what refuses
// calls does so faster than it answers them, and going on at that pace would only measure this machine.
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
