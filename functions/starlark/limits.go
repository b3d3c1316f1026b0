// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.starlark.net/starlark"
)

// scriptLimits limit the resources of a script in this process.
//
// A script is stopped only between steps of the interpreter. Therefore single steps are limited where a short script can
// request much at once: repetition, products of big numbers, ranges, and library calls whose result multiplies their arguments,
// such as replace and join (see bounds).
type scriptLimits struct {
	source int           // bytes of the script; its parser is recursive and has no limit of its own
	steps  uint64        // steps of the interpreter; an iteration of an empty loop takes three
	memory uint64        // bytes of the script's values
	time   time.Duration // from start to end; the context's deadline applies too
	length int           // elements of a range
	bits   int           // bits of the product of two numbers
	output int           // approximate bytes of the resulting items
	grace  time.Duration // time to stop after cancellation, which takes effect at the next step
}

// defaultScriptLimits returns limits far above the needs of a script for thousands of resources.
func defaultScriptLimits() scriptLimits {
	return scriptLimits{
		source: 256 << 10,
		steps:  500_000_000,
		memory: 256 << 20,
		time:   time.Minute,
		length: 10_000_000,
		bits:   1 << 20,
		output: 128 << 20,
		grace:  2 * time.Second,
	}
}

const (
	// memorySteps is the number of steps between memory checks.
	memorySteps = 10_000

	// stepMemory is the approximate maximum of bytes that a step allocates without a guard.
	stepMemory = 32
)

// watch calls run, which executes on thread, and returns its error or that of the exceeded limit. If run panics, watch panics.
//
// If run does not stop within the grace time, because a library call does not return, watch returns without it. The goroutine
// ends when the library call returns. Therefore run must not touch anything that the caller uses after an error.
func (limits scriptLimits) watch(
	ctx context.Context, thread *starlark.Thread, meter *meter, run func() error,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limits.time,
		fmt.Errorf("the script runs for more than %v, which is the limit", limits.time))
	defer cancel()

	reached := limits.countSteps(thread, meter)
	result := make(chan func() error, 1)
	go func() {
		defer func() {
			if value := recover(); value != nil {
				result <- func() error { panic(value) }
			}
		}()
		err := run()
		if limit := cmp.Or(*reached, meter.reached); err != nil && limit != nil {
			err = limit
		}
		result <- func() error { return err }
	}()

	select {
	case report := <-result:
		return report()
	case <-ctx.Done():
		return limits.stop(thread, result, context.Cause(ctx))
	}
}

// countSteps makes the thread cancel itself when it exceeds the limit of steps or memory. The returned pointer then has the
// reason.
func (limits scriptLimits) countSteps(thread *starlark.Thread, meter *meter) *error {
	var reached error
	thread.SetMaxExecutionSteps(min(memorySteps, limits.steps))
	thread.OnMaxSteps = func(thread *starlark.Thread) {
		switch {
		case thread.Steps >= limits.steps:
			reached = fmt.Errorf("the script uses more than %d steps, which is the limit", limits.steps)
		case meter.exceedsWith(memorySteps * stepMemory):
			reached = meter.error()
		default:
			thread.SetMaxExecutionSteps(min(thread.Steps+memorySteps, limits.steps))
			return
		}
		thread.Cancel(reached.Error())
	}
	return &reached
}

// stop cancels a thread with a reason. It returns the reason once the thread has stopped or the grace time is over.
func (limits scriptLimits) stop(thread *starlark.Thread, stopped <-chan func() error, reason error) error {
	thread.Cancel(reason.Error())
	select {
	case <-stopped:
		return reason
	case <-time.After(limits.grace):
		return fmt.Errorf("%w; it did not stop within %v and still runs", reason, limits.grace)
	}
}
