// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Caller makes calls over a connection of its own.
type Caller interface {
	Call(ctx context.Context) error
	Close() error
}

// UntilStopped is a load of a number of callers, as many Porch servers would make it: each makes its next call as soon as the
// one before has ended. It knows of every call that failed, and how long the longest took. It may be used concurrently.
type UntilStopped struct {
	stop    chan struct{}
	once    sync.Once
	callers sync.WaitGroup
	calls   atomic.Int64

	mu      sync.Mutex
	errors  []error
	longest time.Duration
}

// patience is how long a call may take before it counts as failed.
const patience = time.Minute

// Start starts callers, which it closes at the end. Values of ctx are kept, its end ends all calls.
func Start[C Caller](ctx context.Context, callers []C) *UntilStopped {
	l := &UntilStopped{stop: make(chan struct{})}
	for number, caller := range callers {
		l.callers.Go(func() {
			repeat(ctx, l.stop, 50*time.Millisecond, func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				begin := time.Now()
				err := caller.Call(ctx)
				l.took(time.Since(begin))
				if err == nil {
					l.calls.Add(1)
				}
				return l.note(number, err)
			})
			_ = l.note(number, ctx.Err())
			_ = l.note(number, caller.Close())
		})
	}
	return l
}

func (l *UntilStopped) took(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, d)
}

// Longest returns how long the longest call took of those that have ended, whether it succeeded or not.
func (l *UntilStopped) Longest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest
}

// note keeps an error, if it is one, and returns it.
func (l *UntilStopped) note(number int, err error) error {
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.errors = append(l.errors, fmt.Errorf("caller %d: %s: %w", number, time.Now().Format("15:04:05.000"), err))
	}
	return err
}

// Calls returns how many calls have succeeded so far.
func (l *UntilStopped) Calls() int64 { return l.calls.Load() }

// Errors returns the errors of the calls that have failed so far.
func (l *UntilStopped) Errors() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]error(nil), l.errors...)
}

// Stop lets calls that run come to their ends, starts no more, and returns all errors. It may be called again.
func (l *UntilStopped) Stop() []error {
	l.once.Do(func() { close(l.stop) })
	l.callers.Wait()
	return l.Errors()
}
