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

// scriptLimits bound what a script may take of the process it runs in.
//
// The interpreter is stopped between two of its steps. One step is bounded where the language lets a short script ask
// for much at once: repetition, products of big numbers, ranges, and library calls that multiply what they are given, such
// as replace and join (see bounds).
type scriptLimits struct {
	source int           // bytes of the script, whose parser recurses and has no bound of its own
	steps  uint64        // steps of the interpreter; a loop over nothing takes three each time round
	memory uint64        // bytes that the values of the script may take
	time   time.Duration // from start to end; the context's deadline holds as well
	length int           // elements of a range
	bits   int           // of the product of two numbers
	output int           // bytes of the items that it leaves, about
	grace  time.Duration // how long it may take to stop, which it does at its next step
}

// defaultScriptLimits are far beyond what a script over thousands of resources needs.
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
	// memorySteps is how often the memory is looked at, in steps.
	memorySteps = 10_000

	// stepMemory is the most bytes that a step makes, by and large, if no guard sees it.
	stepMemory = 32
)

// watch calls run, which executes on thread, and returns its error, or that of the limit that was reached. A panic of
// run is one of watch.
//
// A run that does not stop within the grace time, because a library call does not come back, is left behind: its
// goroutine ends when that call does. run must therefore touch nothing that its caller uses after an error.
func (limits scriptLimits) watch(
	ctx context.Context, thread *starlark.Thread, meter *meter, run func() error,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limits.time,
		fmt.Errorf("the script runs for more than %v, the most it may", limits.time))
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

// countSteps makes thread stop itself, and say why, when it has taken all its steps or too much memory.
func (limits scriptLimits) countSteps(thread *starlark.Thread, meter *meter) *error {
	var reached error
	thread.SetMaxExecutionSteps(min(memorySteps, limits.steps))
	thread.OnMaxSteps = func(thread *starlark.Thread) {
		switch {
		case thread.Steps >= limits.steps:
			reached = fmt.Errorf("the script takes more than %d steps, the most it may", limits.steps)
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

// stop cancels a thread for a reason, and returns the reason when it has stopped or the grace time is over.
func (limits scriptLimits) stop(thread *starlark.Thread, stopped <-chan func() error, reason error) error {
	thread.Cancel(reason.Error())
	select {
	case <-stopped:
		return reason
	case <-time.After(limits.grace):
		return fmt.Errorf("%w; it did not stop within %v and was left behind", reason, limits.grace)
	}
}
