// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator

import (
	"fmt"
	"time"
)

// clock notes what a call's time is spent on.
type clock struct {
	begin time.Time

	resolving, queueing, starting, executing time.Duration
}

func newClock() *clock { return &clock{begin: time.Now()} }

// spend adds the time from now to the call of what it returns to a phase.
func (c *clock) spend(phase *time.Duration) func() {
	begin := time.Now()
	return func() { *phase += time.Since(begin) }
}

// TimeSpentError says that a call's time was over before there was an answer, and how it was spent.
type TimeSpentError struct {
	// Err is which limit it was: the cause of the end of the context.
	Err error
	// Spent says on what the time was spent, and what the call waited for in the end.
	Spent string
}

func (e *TimeSpentError) Error() string { return fmt.Sprintf("%v after %s", e.Err, e.Spent) }

// Unwrap returns the limit.
func (e *TimeSpentError) Unwrap() error { return e.Err }

func (c *clock) explain(limit error, doing func() string) error {
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	spent := fmt.Sprintf("%v (asking the registry %v, waiting for a pod %v, running the function %v)",
		round(time.Since(c.begin)), round(c.resolving), round(c.queueing+c.starting), round(c.executing))
	if doing != nil {
		spent += ": " + doing()
	}
	return &TimeSpentError{Err: limit, Spent: spent}
}
