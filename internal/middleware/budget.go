// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/krmfn/krmfn/services/evaluation"
)

// Budget shares an amount of memory among calls in FIFO order. Small calls do not overtake a large one that waits.
//
// A caller that holds a reservation must not wait for another one of the same budget, because two such callers could deadlock.
type Budget struct {
	total                        int64
	maxWaiting                   int
	free                         *semaphore.Weighted
	reserved, requested, waiting atomic.Int64
}

// NewBudget returns a budget of total bytes. At most maxWaiting calls can wait for memory.
func NewBudget(total int64, maxWaiting int) *Budget {
	return &Budget{total: total, maxWaiting: maxWaiting, free: semaphore.NewWeighted(total)}
}

// Total returns the size of the budget in bytes.
func (b *Budget) Total() int64 { return b.total }

// MaxWaiting returns the maximum number of calls that wait.
func (b *Budget) MaxWaiting() int { return b.maxWaiting }

// Load returns the number of reserved bytes, and of bytes that calls wait for. It is safe for concurrent use.
func (b *Budget) Load() (reserved, waiting int64) { return b.reserved.Load(), b.requested.Load() }

// Reserve waits until the given number of bytes is free. A request for more than the budget gets the whole budget. If too many calls
// wait, it returns an *evaluation.ExhaustedError at once. If ctx ends first, the caller leaves the queue and gets the context's cause.
func (b *Budget) Reserve(ctx context.Context, bytes int64) (*Reservation, error) {
	bytes = min(bytes, b.total)
	if !b.free.TryAcquire(bytes) {
		if err := b.wait(ctx, bytes); err != nil {
			return nil, err
		}
	}
	b.reserved.Add(bytes)
	return &Reservation{budget: b, bytes: bytes}, nil
}

func (b *Budget) wait(ctx context.Context, bytes int64) error {
	defer b.waiting.Add(-1)
	if b.waiting.Add(1) > int64(b.maxWaiting) {
		return &evaluation.ExhaustedError{Total: b.total, Waiting: b.maxWaiting}
	}
	b.requested.Add(bytes)
	defer b.requested.Add(-bytes)
	if b.free.Acquire(ctx, bytes) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Reservation is a part of a budget that a call holds. It is not safe for concurrent use.
type Reservation struct {
	budget *Budget
	bytes  int64
}

// Bytes returns the number of bytes held.
func (r *Reservation) Bytes() int64 { return r.bytes }

// Keep reduces the reservation to the given number of bytes.
func (r *Reservation) Keep(bytes int64) {
	if more := r.bytes - max(bytes, 0); more > 0 {
		r.bytes -= more
		r.budget.reserved.Add(-more)
		r.budget.free.Release(more)
	}
}

// Release releases the reservation. Further calls have no effect.
func (r *Reservation) Release() { r.Keep(0) }
