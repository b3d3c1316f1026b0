// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// warmers is how many functions are made ready at once.
const warmers = 16

// Warmer makes pods ahead of need, beside the calls.
type Warmer struct {
	// Evaluator is whose pods.
	Evaluator *Evaluator
	// AtStart lists the references of functions that need a pod at start, and Always those that need their
	// minimum of pods at all times.
	AtStart, Always func() []string
	// Interval is how often the latter are looked after, beside what their pools do themselves.
	Interval time.Duration
	Log      *slog.Logger

	// mu guards what follows: what was logged of each reference, those that are wanted since Run has looked last, and who is told
	// of them, once there is one.
	mu     sync.Mutex
	failed map[string]string
	wanted []string
	more   chan struct{}
}

// Want makes further functions ready, by their references, as soon as Run runs. It does not wait.
func (w *Warmer) Want(references []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = append(w.wanted, references...)
	slices.Sort(w.wanted)
	w.wanted = slices.Compact(w.wanted)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// take returns the references that are wanted.
func (w *Warmer) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted := w.wanted
	w.wanted = nil
	return wanted
}

// listen returns who is told of references that are wanted from now on.
func (w *Warmer) listen() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.more = make(chan struct{}, 1)
	return w.more
}

// Run makes pods until ctx ends. It returns when nothing of it is going on any more.
func (w *Warmer) Run(ctx context.Context) {
	select {
	case <-w.Evaluator.config.Pods.Synced():
	case <-ctx.Done():
		return
	}
	w.warm(ctx, w.AtStart())
	more := w.listen()
	ticker := time.NewTicker(w.Interval)
	defer ticker.Stop()
	for {
		w.warm(ctx, w.Always())
		w.warm(ctx, w.take())
		select {
		case <-ticker.C:
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

func (w *Warmer) warm(ctx context.Context, references []string) {
	var group errgroup.Group
	group.SetLimit(warmers)
	for _, reference := range references {
		group.Go(func() error {
			_, err := w.Evaluator.warm(ctx, reference)
			w.report(reference, err)
			return nil
		})
	}
	_ = group.Wait() // none has an error
}

// report logs why a function cannot have a pod, once for each reason.
func (w *Warmer) report(reference string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		delete(w.failed, reference)
		return
	}
	if w.failed == nil {
		w.failed = map[string]string{}
	}
	if text := err.Error(); w.failed[reference] != text {
		w.failed[reference] = text
		w.Log.Warn("function not warmed up", "image", reference, "err", err)
	}
}

// warm makes a pod of a function by its resolved reference, where there is none, and tells whether one is ready. It does not
// wait for it.
func (e *Evaluator) warm(ctx context.Context, reference string) (ready bool, err error) {
	select {
	case <-e.config.Pods.Synced():
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	digest, err := e.config.Resolver.Resolve(ctx, reference)
	if err != nil {
		return false, err
	}
	p := e.config.Pods.Pool(reference, digest)
	defer p.Done()
	p.Warm()
	return p.Stats().Ready > 0, nil
}
