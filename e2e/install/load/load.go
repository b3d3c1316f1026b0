// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package load calls a function over many connections without a break, as many Porch servers would.
package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Client is one connection.
type Client interface {
	Evaluate(ctx context.Context, image string, list []byte) ([]byte, error)
	Close() error
}

// Load is a number of callers, each with a connection of its own, that call one after the other.
type Load struct {
	stop    chan struct{}
	once    sync.Once
	callers sync.WaitGroup
	calls   atomic.Int64

	mu     sync.Mutex
	errors []error
}

// patience is how long a call may take before it counts as failed.
const patience = time.Minute

// Start starts a caller on each connection, which it closes at the end. Values of ctx are kept, its end ends all calls.
func Start[C Client](ctx context.Context, clients []C, image string, list []byte) *Load {
	l := &Load{stop: make(chan struct{})}
	for number, client := range clients {
		l.callers.Go(func() {
			l.call(ctx, number, client, image, list)
			if err := client.Close(); err != nil {
				l.failed(number, err)
			}
		})
	}
	return l
}

// call calls until the load is stopped.
func (l *Load) call(ctx context.Context, number int, client Client, image string, list []byte) {
	for {
		select {
		case <-l.stop:
			return
		case <-ctx.Done():
			l.failed(number, ctx.Err())
			return
		default:
		}
		if err := once(ctx, client, image, list); err != nil {
			l.failed(number, err)
			// A server that is not there answers at once: to go on at that pace would only count how fast this machine is.
			select {
			case <-time.After(50 * time.Millisecond):
			case <-l.stop:
			}
		} else {
			l.calls.Add(1)
		}
	}
}

func once(ctx context.Context, client Client, image string, list []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := client.Evaluate(ctx, image, list)
	if err == nil && len(out) == 0 {
		return errors.New("the call succeeded without any output")
	}
	return err
}

func (l *Load) failed(number int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors = append(l.errors, fmt.Errorf("caller %d: %s: %w", number, time.Now().Format("15:04:05.000"), err))
}

// Calls returns how many calls have succeeded so far.
func (l *Load) Calls() int64 { return l.calls.Load() }

// Errors returns the errors of the calls that have failed so far.
func (l *Load) Errors() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]error(nil), l.errors...)
}

// Stop lets calls that run come to their ends, starts no more, and returns all errors. It may be called again.
func (l *Load) Stop() []error {
	l.once.Do(func() { close(l.stop) })
	l.callers.Wait()
	return l.Errors()
}
