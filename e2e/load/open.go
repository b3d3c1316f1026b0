// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Open makes calls at a constant rate, whatever becomes of those before: when each is due is settled from the start, and
// its latency counts from then. So a stall of the server counts for all calls that were due while it lasted, and not only
// for those that happened to run (coordinated omission).
type Open struct {
	Calls
	// Rate is how many calls are due in a second.
	Rate float64
	// MaxInFlight is how many calls may run at once. One that is due beyond that is not made, and counted as such.
	MaxInFlight int

	// sleep sleeps for a moment; nil for the system's own way.
	sleep func(time.Duration)
}

// Run makes the calls and returns when the last has ended. The error is that ctx has ended before.
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

// total is how many calls are due before the end.
func (o Open) total() int { return int((o.WarmUp + o.Duration).Seconds() * o.Rate) }

// precise is how long before a call is due the system is asked to wake the generator: timers of Go come up to a millisecond
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
			// If a signal ends it early, the call is made by that much too early.
			ts := unix.NsecToTimespec(left.Nanoseconds())
			_ = unix.Nanosleep(&ts, nil)
		} else {
			o.sleep(left)
		}
	}
	return ctx.Err()
}
