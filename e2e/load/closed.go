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

// backoff is how long a caller waits after a call that failed: what refuses calls does so faster than it answers them.
const backoff = 10 * time.Millisecond

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
	var running sync.WaitGroup
	for range c.Callers {
		running.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				recorder.make(ctx, func(ctx context.Context) error {
					err := call(ctx)
					if err != nil {
						time.Sleep(backoff)
					}
					return err
				}, time.Now(), counts)
			}
		})
	}
	running.Wait()
	return recorder.result, ctx.Err()
}
