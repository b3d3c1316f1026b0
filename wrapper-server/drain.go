// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/krmfn/krmfn/services/evaluation"
)

// errDraining says that a call came after the beginning of a shutdown. Nothing of it has run.
var errDraining = errors.New("the wrapper server is shutting down, send the call to another pod")

// Drain knows which evaluations have begun. It may be used by any number of goroutines at once.
type drain struct {
	begun func() bool

	mu      sync.Mutex
	present int
	idle    chan struct{}
}

// New returns a drain that begins when ctx ends.
func newDrain(ctx context.Context) *drain {
	return &drain{begun: func() bool { return ctx.Err() != nil }, idle: make(chan struct{})}
}

// Guard refuses evaluations with errDraining from the moment that the drain begins.
func (d *drain) guard(e evaluation.Evaluator) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		if !d.enter() {
			return evaluation.Response{}, errDraining
		}
		defer d.leave()
		return e.Evaluate(ctx, req)
	})
}

// Wait waits until no evaluation is left, for limit at most, and tells whether none is. It must be called after the drain
// has begun.
func (d *drain) wait(limit time.Duration) bool {
	if d.empty() {
		return true
	}
	over := time.NewTimer(limit)
	defer over.Stop()
	select {
	case <-d.idle:
		return true
	case <-over.C:
		return false
	}
}

func (d *drain) empty() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.present == 0
}

func (d *drain) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun() {
		return false
	}
	d.present++
	return true
}

// leave closes idle at most once: nobody enters after the drain has begun.
func (d *drain) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.present--
	if d.present == 0 && d.begun() {
		close(d.idle)
	}
}
