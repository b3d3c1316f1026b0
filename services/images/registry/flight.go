// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// maxFlights bounds the questions that are asked at once. Callers who leave do not end theirs, so that without a bound they
// could pile up for as long as a registry takes not to answer.
const maxFlights = 256

var (
	errClosed = errors.New("images are no longer looked up: the process shuts down")
	errBusy   = fmt.Errorf("%d images are being looked up at once: try again later", maxFlights)
)

// flights asks each question once at a time, whoever asks it, and remembers failures for a moment. What is asked goes on
// when its callers leave, and ends with close. (Package singleflight has no owner of its goroutines who could wait.)
type flights[K comparable, V any] struct {
	ask func(context.Context, K) (V, error)
	// remember is how long a failure is the answer to the same question.
	remember time.Duration

	// ctx is the life of the goroutines, which is not that of any call.
	ctx     context.Context
	cancel  context.CancelFunc
	owned   sync.WaitGroup
	mu      sync.Mutex
	closed  bool
	running map[K]*flight[V]
	failed  *lru.Cache[K, *flight[V]]
}

// flight is one question. The other fields are set when done is closed.
type flight[V any] struct {
	done   chan struct{}
	value  V
	err    error
	landed time.Time
}

func newFlights[K comparable, V any](
	ctx context.Context, size int, remember time.Duration, ask func(context.Context, K) (V, error),
) *flights[K, V] {
	ctx, cancel := context.WithCancel(ctx) //nolint:gosec // G118: close calls it.
	return &flights[K, V]{
		ask: ask, remember: remember, ctx: ctx, cancel: cancel,
		running: map[K]*flight[V]{}, failed: newLRU[K, *flight[V]](size),
	}
}

// begin returns the flight that asks the question, which may be another caller's, or the failed one of a moment ago.
func (f *flights[K, V]) begin(key K) *flight[V] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if flight, ok := f.running[key]; ok {
		return flight
	}
	if flight, ok := f.failed.Get(key); ok && time.Since(flight.landed) < f.remember {
		return flight
	}
	begun := &flight[V]{done: make(chan struct{})}
	switch {
	case f.closed:
		begun.err = errClosed
		close(begun.done)
	case len(f.running) >= maxFlights:
		begun.err = errBusy
		close(begun.done)
	default:
		f.running[key] = begun
		f.owned.Go(func() { f.fly(key, begun) })
	}
	return begun
}

func (f *flights[K, V]) fly(key K, flight *flight[V]) {
	defer close(flight.done)
	defer func() {
		// No caller's recovery reaches this goroutine, and what is read in it comes from outside.
		if value := recover(); value != nil {
			flight.err = fmt.Errorf("looking an image up panicked: %s", oneLine(fmt.Sprint(value)))
		}
		flight.landed = time.Now()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.running, key)
		if flight.err != nil {
			f.failed.Add(key, flight)
		}
	}()
	flight.value, flight.err = f.ask(f.ctx, key)
}

// do asks and waits, at most for as long as the context lasts.
func (f *flights[K, V]) do(ctx context.Context, key K) (V, error) {
	flight := f.begin(key)
	select {
	case <-flight.done:
		return flight.value, flight.err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

// close ends what is being asked, waits for it, and lets nothing be asked any more.
func (f *flights[K, V]) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.owned.Wait()
}
