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

// UntilStopped is a load of concurrent callers that make calls back to back, like a number of Porch servers. It records every error and the
// longest latency. It is safe for concurrent use.
type UntilStopped struct {
	stop    chan struct{}
	once    sync.Once
	callers sync.WaitGroup
	calls   atomic.Int64

	mu      sync.Mutex
	errors  []error
	longest time.Duration
}

// patience is the deadline of a call.
const patience = time.Minute

// Start starts the load. The load closes the callers when it ends. Calls use the values of ctx, and end when ctx ends.
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

// Longest returns the longest latency of all ended calls, including failed ones.
func (l *UntilStopped) Longest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest
}

// note records err unless it is nil, and returns it.
func (l *UntilStopped) note(number int, err error) error {
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.errors = append(l.errors, fmt.Errorf("caller %d: %s: %w", number, time.Now().Format("15:04:05.000"), err))
	}
	return err
}

// Calls returns the number of successful calls so far.
func (l *UntilStopped) Calls() int64 { return l.calls.Load() }

// Errors returns the errors of failed calls so far.
func (l *UntilStopped) Errors() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]error(nil), l.errors...)
}

// Stop stops the load, waits for running calls, and returns all errors. Repeated calls return the same.
func (l *UntilStopped) Stop() []error {
	l.once.Do(func() { close(l.stop) })
	l.callers.Wait()
	return l.Errors()
}
