// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"
	"time"
)

// Place is one call's right to use a pod. It must be given back, once.
type Place[P any] struct {
	// Endpoint is where the call is sent to.
	Endpoint P
	// Slot is the pod's slot.
	Slot int
	// Cold says that the call came before the pod was ready.
	Cold bool

	pool *Pool[P]
	pod  *pod[P]
}

// FullError says that as many calls wait for a place as may. The call has not run and may be made again.
type FullError struct {
	// Waiting is how many calls wait.
	Waiting int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("%d calls wait for a place in a pod already, try again later", e.Waiting)
}

type waiter[P any] struct {
	// answer gets one answer and is never waited for by who answers.
	answer chan answer[P]
	came   time.Time
}

type answer[P any] struct {
	place *Place[P]
	err   error
}

// Acquire returns a place as soon as there is one, in the order of calls, and wants another pod where those that there are
// have enough to do. Errors: *FullError, *BackoffError, the error of the last pod that failed to start or the problem of those
// that are starting, and the context's cause. A call that leaves costs the others nothing.
func (p *Pool[P]) Acquire(ctx context.Context) (*Place[P], error) {
	// A caller who has gone must not want a pod.
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	p.grow(p.wanted())
	if place := p.take(); place != nil {
		p.unlock()
		return place, nil
	}
	if err := p.refusal(); err != nil {
		p.unlock()
		return nil, err
	}
	w := &waiter[P]{answer: make(chan answer[P], 1), came: time.Now()}
	element := p.waiting.PushBack(w)
	if p.awaited != nil {
		close(p.awaited)
		p.awaited = nil
	}
	p.unlock()
	select {
	case a := <-w.answer:
		return a.place, a.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.waiting.Remove(element)
	p.mu.Unlock()
	// The answer may have come at the same moment. Nobody will answer any more.
	select {
	case a := <-w.answer:
		if a.place != nil {
			a.place.Release()
		}
	default:
	}
	return nil, context.Cause(ctx)
}

// Awaited returns what is closed as soon as a call waits for a place: at once if one does.
func (p *Pool[P]) Awaited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting.Len() > 0 {
		awaited := make(chan struct{})
		close(awaited)
		return awaited
	}
	if p.awaited == nil {
		p.awaited = make(chan struct{})
	}
	return p.awaited
}

// refusal returns why a call may not wait, or nil.
func (p *Pool[P]) refusal() error {
	if err := p.hopeless(); err != nil {
		return err
	}
	if n := p.waiting.Len(); n >= p.config.MaxWaiting {
		return &FullError{Waiting: n}
	}
	return nil
}

// Release gives the place back, and to the call that has waited longest.
func (place *Place[P]) Release() {
	p := place.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	place.pod.running--
	now := time.Now()
	place.pod.used, place.pod.called = now, now
	p.dispatch()
}

// dispatch gives places to waiting calls, as long as there are both.
func (p *Pool[P]) dispatch() {
	for p.waiting.Len() > 0 {
		place := p.take()
		if place == nil {
			return
		}
		p.answerNext(answer[P]{place: place})
	}
}

// refuse gives all waiting calls an error.
func (p *Pool[P]) refuse(err error) {
	for p.waiting.Len() > 0 {
		p.answerNext(answer[P]{err: err})
	}
}

func (p *Pool[P]) answerNext(a answer[P]) {
	w, _ := p.waiting.Remove(p.waiting.Front()).(*waiter[P])
	if a.place != nil {
		a.place.Cold = a.place.pod.ready.After(w.came)
	}
	w.answer <- a
}
