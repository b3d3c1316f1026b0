// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"container/list"
	"context"
	"fmt"
	"time"
)

// FullError reports that the queue is full. The call was not sent and can be retried.
type FullError struct {
	// Waiting is the number of calls in the queue.
	Waiting int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("%d calls already wait for a function pod, try again later", e.Waiting)
}

// waiter is a call in the queue. answer has capacity for the only answer, so that the sender never blocks.
type waiter struct {
	answer chan answer
	came   time.Time
}

type answer struct {
	lease *Lease
	err   error
}

// Acquire waits in FIFO order for a lease on a ready pod. If all ready pods are saturated, it also requests another pod. Errors:
// *FullError, *BackoffError, *UndeletedError, why the last pod failed to start or why the starting pods may never be ready, and the cause
// of ctx.
func (p *Pool) Acquire(ctx context.Context) (*Lease, error) {
	// A caller that has left must not request a pod.
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	if lease, err := p.tryAcquire(); lease != nil || err != nil {
		p.unlock()
		return lease, err
	}
	if n := p.queue.Len(); n >= p.config.MaxWaiting {
		p.unlock()
		return nil, &FullError{Waiting: n}
	}
	w, queued := p.enqueue(p.queue.PushBack)
	return p.wait(ctx, w, queued)
}

// Reacquire is like Acquire for a call that a busy pod has sent back: the call is first in the queue, even if the queue is full.
func (p *Pool) Reacquire(ctx context.Context) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	needed := p.wanted()
	w, queued := p.enqueue(p.queue.PushFront)
	p.settle(needed)
	p.dispatch()
	return p.wait(ctx, w, queued)
}

// tryAcquire requests a pod if one more is needed. It returns a lease if a pod has capacity, or an error if no pod will take the call.
// The caller must hold the lock.
func (p *Pool) tryAcquire() (*Lease, error) {
	p.grow(p.wanted())
	if lease := p.take(); lease != nil {
		return lease, nil
	}
	return nil, p.exhausted()
}

// enqueue adds a call to the queue.
func (p *Pool) enqueue(push func(any) *list.Element) (*waiter, *list.Element) {
	w := &waiter{answer: make(chan answer, 1), came: time.Now()}
	if p.demand != nil {
		close(p.demand)
		p.demand = nil
	}
	return w, push(w)
}

// wait waits for the answer of a call in the queue. The caller must hold the lock, and wait releases it.
func (p *Pool) wait(ctx context.Context, w *waiter, queued *list.Element) (*Lease, error) {
	p.unlock()
	select {
	case a := <-w.answer:
		return a.lease, a.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.queue.Remove(queued)
	p.mu.Unlock()
	// The answer may have been sent at the same moment. After the call has left the queue, there are no further answers.
	select {
	case a := <-w.answer:
		if a.lease != nil {
			a.lease.Release()
		}
	default:
	}
	return nil, context.Cause(ctx)
}

// Demand returns a channel that is closed when a call waits for a lease. It is closed at once if a call already waits.
func (p *Pool) Demand() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue.Len() > 0 {
		return closed
	}
	if p.demand == nil {
		p.demand = make(chan struct{})
	}
	return p.demand
}

// dispatch gives leases to waiting calls in FIFO order while pods have capacity.
func (p *Pool) dispatch() {
	for p.queue.Len() > 0 {
		lease := p.take()
		if lease == nil {
			return
		}
		p.answerNext(answer{lease: lease})
	}
}

// reject fails all waiting calls.
func (p *Pool) reject(err error) {
	for p.queue.Len() > 0 {
		p.answerNext(answer{err: err})
	}
}

func (p *Pool) answerNext(a answer) {
	w, _ := p.queue.Remove(p.queue.Front()).(*waiter)
	if a.lease != nil {
		a.lease.Cold = a.lease.Pod.ready.After(w.came)
	}
	w.answer <- a
}
