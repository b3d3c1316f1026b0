// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Budget shares an amount of memory among calls: first come, first served. A large call that waits is not overtaken by small ones.
//
// Whoever holds a reservation must not wait for another one of the same budget: two that do wait for each other for ever.
type Budget struct {
	total                    int64
	maxWaiting               int
	free                     *semaphore.Weighted
	reserved, asked, waiting atomic.Int64
}

// NewBudget returns a budget of so many bytes, for which so many calls may wait.
func NewBudget(total int64, maxWaiting int) *Budget {
	return &Budget{total: total, maxWaiting: maxWaiting, free: semaphore.NewWeighted(total)}
}

// Total returns the bytes of the budget.
func (b *Budget) Total() int64 { return b.total }

// MaxWaiting returns how many calls may wait.
func (b *Budget) MaxWaiting() int { return b.maxWaiting }

// Load returns how many bytes are reserved and how many are waited for. It may be called at any time.
func (b *Budget) Load() (reserved, waiting int64) { return b.reserved.Load(), b.asked.Load() }

// Reserve waits until so many bytes are free. One who asks for more than the whole budget gets all of it, alone. One who finds too
// many waiting gets an *ExhaustedError at once; one whose context ends while it waits gives up its place and gets the context's cause.
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
		return &ExhaustedError{Total: b.total, Waiting: b.maxWaiting}
	}
	b.asked.Add(bytes)
	defer b.asked.Add(-bytes)
	if b.free.Acquire(ctx, bytes) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Reservation is a part of a budget that a call holds. It is for one goroutine at a time.
type Reservation struct {
	budget *Budget
	bytes  int64
}

// Bytes returns how many bytes are held.
func (r *Reservation) Bytes() int64 { return r.bytes }

// Keep gives back what is held beyond so many bytes.
func (r *Reservation) Keep(bytes int64) {
	if more := r.bytes - max(bytes, 0); more > 0 {
		r.bytes -= more
		r.budget.reserved.Add(-more)
		r.budget.free.Release(more)
	}
}

// Release gives all back. A second time it does nothing.
func (r *Reservation) Release() { r.Keep(0) }

// ExhaustedError says that a call needs memory that it cannot have now, or not at all. The call has not succeeded, and others
// have not been harmed.
type ExhaustedError struct {
	// Total is the bytes of the budget.
	Total int64
	// Waiting is how many calls may wait for a part of it; 0 where the call has used up all that there is.
	Waiting int
}

func (e *ExhaustedError) Error() string {
	if e.Waiting == 0 {
		return fmt.Sprintf("the function needs more than the %d MiB of memory that it may have: send it a smaller package, "+
			"or give the server that runs it a larger memory limit", e.Total>>20)
	}
	return fmt.Sprintf("%d calls wait already for a part of the %d MiB that calls may have in flight: try again later, "+
		"or raise --max-bytes-in-flight with the memory limit", e.Waiting, e.Total>>20)
}
