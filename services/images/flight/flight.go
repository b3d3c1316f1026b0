// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package flight asks questions about images in the background: the same one once at a time, whoever asks it.
package flight

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// Group asks each question once at a time, whoever asks it, and remembers failures for a moment. What is asked goes on
// when its callers leave, and ends with Close. (Package singleflight has no owner of its goroutines who could wait.) It may be
// used by any number of goroutines at once.
type Group[K comparable, V any] struct {
	ask      func(context.Context, K) (V, error)
	remember time.Duration

	// ctx is the life of the goroutines, which is not that of any call.
	ctx     context.Context
	cancel  context.CancelFunc
	owned   sync.WaitGroup
	mu      sync.Mutex
	closed  bool
	running map[K]*Flight[V]
	failed  *lru.Cache[K, *Flight[V]]
}

// Flight is one question. The answer is there when Done is closed.
type Flight[V any] struct {
	Done   chan struct{}
	Value  V
	Err    error
	landed time.Time
}

// NewGroup returns a group that asks with ask, which must end with its context. A failure is the answer to the same question
// for the time of remember; of failures the latest are remembered, as many as size, which is above 0. What is asked ends with
// ctx or with Close, whichever is first.
func NewGroup[K comparable, V any](
	ctx context.Context, size int, remember time.Duration, ask func(context.Context, K) (V, error),
) *Group[K, V] {
	failed, err := lru.New[K, *Flight[V]](size)
	if err != nil {
		panic(err) // only for a size below 1
	}
	ctx, cancel := context.WithCancel(ctx) //nolint:gosec // G118: Close calls it.
	return &Group[K, V]{ask: ask, remember: remember, ctx: ctx, cancel: cancel, running: map[K]*Flight[V]{}, failed: failed}
}

// Begin returns the flight that asks the question, which may be another caller's, or the failed one of a moment ago.
func (g *Group[K, V]) Begin(key K) *Flight[V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if flight, ok := g.running[key]; ok {
		return flight
	}
	if flight, ok := g.failed.Get(key); ok && time.Since(flight.landed) < g.remember {
		return flight
	}
	begun := &Flight[V]{Done: make(chan struct{})}
	switch {
	case g.closed:
		begun.Err = errClosed
		close(begun.Done)
	case len(g.running) >= maxFlights:
		begun.Err = errBusy
		close(begun.Done)
	default:
		g.running[key] = begun
		g.owned.Go(func() { g.fly(key, begun) })
	}
	return begun
}

func (g *Group[K, V]) fly(key K, flight *Flight[V]) {
	defer close(flight.Done)
	defer func() {
		// No caller's recovery reaches this goroutine, and what is read in it comes from outside.
		if value := recover(); value != nil {
			flight.Err = fmt.Errorf("looking an image up panicked: %s", strings.Join(strings.Fields(fmt.Sprint(value)), " "))
		}
		flight.landed = time.Now()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.running, key)
		if flight.Err != nil {
			g.failed.Add(key, flight)
		}
	}()
	flight.Value, flight.Err = g.ask(g.ctx, key)
}

// Do asks and waits, at most for as long as the context lasts.
func (g *Group[K, V]) Do(ctx context.Context, key K) (V, error) {
	flight := g.Begin(key)
	select {
	case <-flight.Done:
		return flight.Value, flight.Err
	case <-ctx.Done():
		var none V
		return none, context.Cause(ctx)
	}
}

// Close ends what is being asked, waits for it, and lets nothing be asked any more.
func (g *Group[K, V]) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.cancel()
	g.owned.Wait()
}
