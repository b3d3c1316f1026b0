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

// errDraining reports that a call arrived during the shutdown. The call has not run.
var errDraining = errors.New("the wrapper server is shutting down, send the call to another pod")

// drain counts running evaluations, and rejects new ones during the shutdown. It is safe for concurrent use.
type drain struct {
	// begun reports whether the shutdown has begun.
	begun func() bool
	// idle is closed when the last evaluation ends during the shutdown.
	idle chan struct{}

	mu      sync.Mutex
	running int // guarded by mu
}

// newDrain returns a drain for a shutdown that begins when ctx ends.
func newDrain(ctx context.Context) *drain {
	return &drain{begun: func() bool { return ctx.Err() != nil }, idle: make(chan struct{})}
}

// guard returns an evaluator that rejects evaluations with errDraining during the shutdown.
func (d *drain) guard(e evaluation.Evaluator) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		if !d.enter() {
			return evaluation.Response{}, errDraining
		}
		defer d.leave()
		return e.Evaluate(ctx, req)
	})
}

// wait waits until no evaluation runs, at most for limit, and reports whether none runs. The shutdown must have begun.
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
	return d.running == 0
}

func (d *drain) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun() {
		return false
	}
	d.running++
	return true
}

// leave closes idle once, because no evaluation enters during the shutdown.
func (d *drain) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
	if d.running == 0 && d.begun() {
		close(d.idle)
	}
}
