// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package flight runs lookups of images in the background, and merges concurrent equal lookups.
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

// maxFlights is the maximum number of concurrent lookups. A lookup continues after its callers have left, so without a limit lookups
// could accumulate while a registry does not answer.
const maxFlights = 256

var (
	errClosed = errors.New("image lookups have ended: the process shuts down")
	errBusy   = fmt.Errorf("%d images are being looked up at once: try again later", maxFlights)
)

// Group merges concurrent equal lookups, and caches failures for a short time. A lookup continues when its callers leave, and ends with
// Close. Unlike singleflight, Close waits for the goroutines. Group is safe for concurrent use.
type Group[K comparable, V any] struct {
	ask      func(context.Context, K) (V, error)
	remember time.Duration

	// ctx is the context of all lookups. It does not depend on callers.
	ctx     context.Context
	cancel  context.CancelFunc
	owned   sync.WaitGroup
	mu      sync.Mutex
	closed  bool
	running map[K]*Flight[V]
	failed  *lru.Cache[K, *Flight[V]]
}

// Flight is a lookup. Value and Err are set when Done is closed.
type Flight[V any] struct {
	Done   chan struct{}
	Value  V
	Err    error
	landed time.Time
}

// NewGroup returns a group that calls ask, which must return when its context ends. The error of a failed lookup is returned again for
// the duration remember. At most size errors are cached; size must be positive. Lookups end with ctx or with Close.
func NewGroup[K comparable, V any](
	ctx context.Context, size int, remember time.Duration, ask func(context.Context, K) (V, error),
) *Group[K, V] {
	failed, err := lru.New[K, *Flight[V]](size)
	if err != nil {
		panic(err) // size is less than 1
	}
	ctx, cancel := context.WithCancel(ctx) //nolint:gosec // G118: Close calls it.
	return &Group[K, V]{ask: ask, remember: remember, ctx: ctx, cancel: cancel, running: map[K]*Flight[V]{}, failed: failed}
}

// Begin returns the running lookup for the key, or its recent failure. Otherwise, it starts a lookup.
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
		// A panic in this goroutine would end the process, and ask parses data from outside.
		if value := recover(); value != nil {
			flight.Err = fmt.Errorf("an image lookup panicked: %s", strings.Join(strings.Fields(fmt.Sprint(value)), " "))
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

// Do starts a lookup and waits for it, or until ctx ends.
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

// Close cancels running lookups and waits for them. Later lookups fail.
func (g *Group[K, V]) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.cancel()
	g.owned.Wait()
}
