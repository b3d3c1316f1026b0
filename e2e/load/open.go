// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Open makes calls at a constant rate, whether or not earlier calls have ended. The due time of each call is fixed at the start, and
// latencies count from the due time. A stall of the server thus affects all calls that are due during the stall, which avoids coordinated
// omission.
type Open struct {
	Calls
	// Rate is the number of calls per second.
	Rate float64
	// MaxInFlight is the maximum number of concurrent calls. Calls that are due beyond the maximum are not made, and count as unsent.
	MaxInFlight int

	// sleep sleeps for a short time. Nil means nanosleep(2).
	sleep func(time.Duration)
}

// Run makes the calls and returns when the last one has ended. It returns an error if ctx ends first.
func (o Open) Run(ctx context.Context, call Call) (*Result, error) {
	recorder := newRecorder(o.Calls)
	places := make(chan struct{}, o.MaxInFlight)
	var running sync.WaitGroup
	defer running.Wait()
	start := time.Now()
	for number := range o.total() {
		offset := time.Duration(float64(number) / o.Rate * float64(time.Second))
		due, counts := start.Add(offset), offset >= o.WarmUp
		if err := o.await(ctx, due); err != nil {
			return nil, err
		}
		select {
		case places <- struct{}{}:
			running.Go(func() {
				defer func() { <-places }()
				_ = recorder.make(ctx, call, due, func() bool { return counts })
			})
		default:
			if counts {
				recorder.unsent()
			}
		}
	}
	running.Wait()
	return recorder.result, ctx.Err()
}

// total returns the number of calls, including warm-up.
func (o Open) total() int { return int((o.WarmUp + o.Duration).Seconds() * o.Rate) }

// precise is the time before a call is due at which the generator switches from a Go timer to nanosleep. Go timers fire up to a millisecond
// late in an idle process, which would count as latency.
const precise = 3 * time.Millisecond

func (o Open) await(ctx context.Context, due time.Time) error {
	if early := time.Until(due) - precise; early > 0 {
		timer := time.NewTimer(early)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
	if left := time.Until(due); left > 0 {
		if o.sleep == nil {
			// A signal can end nanosleep early. The call is then made early.
			ts := unix.NsecToTimespec(left.Nanoseconds())
			_ = unix.Nanosleep(&ts, nil)
		} else {
			o.sleep(left)
		}
	}
	return ctx.Err()
}
