// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package drain ends a server's work in order: what has begun is finished, what comes later is refused.
package drain

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/krmfn/krmfn/services/evaluation"
)

// ErrDraining says that a call came after the beginning of a shutdown. Nothing of it has run.
var ErrDraining = errors.New("the wrapper server is shutting down, send the call to another pod")

// Drain knows which evaluations have begun. It may be used by any number of goroutines at once.
type Drain struct {
	begun func() bool

	mu      sync.Mutex
	present int
	idle    chan struct{}
}

// New returns a drain that begins when ctx ends.
func New(ctx context.Context) *Drain {
	return &Drain{begun: func() bool { return ctx.Err() != nil }, idle: make(chan struct{})}
}

// Guard refuses evaluations with ErrDraining from the moment that the drain begins.
func (d *Drain) Guard(e evaluation.Evaluator) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		if !d.enter() {
			return evaluation.Response{}, ErrDraining
		}
		defer d.leave()
		return e.Evaluate(ctx, req)
	})
}

// Wait waits until no evaluation is left, for limit at most, and tells whether none is. It must be called after the drain
// has begun.
func (d *Drain) Wait(limit time.Duration) bool {
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

func (d *Drain) empty() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.present == 0
}

func (d *Drain) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun() {
		return false
	}
	d.present++
	return true
}

// leave closes idle at most once: nobody enters after the drain has begun.
func (d *Drain) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.present--
	if d.present == 0 && d.begun() {
		close(d.idle)
	}
}
