// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"

	"go.starlark.net/starlark"
)

// scriptLimits bound what a script may take of the process it runs in.
//
// The interpreter is stopped between two of its steps. One step is bounded where the language lets a short script ask
// for much at once: repetition, products of big numbers, ranges. What is left are library calls that multiply what they
// are given, as replace and join do: where not even those may hurt, evaluate in a process of its own.
type scriptLimits struct {
	source int           // bytes of the script, whose parser recurses and has no bound of its own
	steps  uint64        // steps of the interpreter; a loop over nothing takes three each time round
	memory uint64        // bytes by which the heap of the process may grow while the script runs, garbage aside
	time   time.Duration // from start to end; the context's deadline holds as well
	length int           // elements of a range
	bits   int           // of the product of two numbers
	output int           // bytes of the items that it leaves, about
	grace  time.Duration // how long it may take to stop, which it does at its next step
}

// defaultScriptLimits are far beyond what a script over thousands of resources needs. Where the process does other things
// too, whose memory cannot be told from the script's, it may grow by more before the script is stopped for it.
func defaultScriptLimits(alone bool) scriptLimits {
	limits := scriptLimits{
		source: 256 << 10,
		steps:  500_000_000,
		memory: 256 << 20,
		time:   time.Minute,
		length: 10_000_000,
		bits:   1 << 20,
		output: 128 << 20,
		grace:  2 * time.Second,
	}
	if !alone {
		limits.memory = 1 << 30
	}
	return limits
}

const (
	// memoryInterval is how often the heap is looked at while one step of a script takes long.
	memoryInterval = 5 * time.Millisecond

	// memorySteps is how often it is looked at otherwise, in steps.
	memorySteps = 10_000
)

// watch calls run, which executes on thread, and returns its error, or that of the limit that was reached. A panic of
// run is one of watch.
//
// A run that does not stop within the grace time, because a library call does not come back, is left behind: its
// goroutine ends when that call does. run must therefore touch nothing that its caller uses after an error.
func (limits scriptLimits) watch(
	ctx context.Context, thread *starlark.Thread, growth *heapGrowth, run func() error,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limits.time,
		fmt.Errorf("the script runs for more than %v, the most it may", limits.time))
	defer cancel()

	reached := limits.countSteps(thread, growth)
	result := make(chan func() error, 1)
	go func() {
		defer func() {
			if value := recover(); value != nil {
				result <- func() error { panic(value) }
			}
		}()
		err := run()
		if err != nil && *reached != nil {
			err = *reached
		}
		result <- func() error { return err }
	}()

	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	for {
		select {
		case report := <-result:
			return report()
		case <-ctx.Done():
			return limits.stop(thread, result, context.Cause(ctx))
		case <-tick.C:
			if growth.surelyExceeds() {
				return limits.stop(thread, result, growth.error())
			}
		}
	}
}

// countSteps makes thread stop itself, and say why, when it has taken all its steps or too much memory.
func (limits scriptLimits) countSteps(thread *starlark.Thread, growth *heapGrowth) *error {
	var reached error
	thread.SetMaxExecutionSteps(min(memorySteps, limits.steps))
	thread.OnMaxSteps = func(thread *starlark.Thread) {
		switch {
		case thread.Steps >= limits.steps:
			reached = fmt.Errorf("the script takes more than %d steps, the most it may", limits.steps)
		case growth.exceedsWith(0):
			reached = growth.error()
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

// heapGrowth tells whether the heap of the process has grown beyond a limit. Whatever else the process does meanwhile
// counts too. Its methods may be called concurrently.
type heapGrowth struct {
	start, limit uint64 // bytes
}

func newHeapGrowth(limit uint64) *heapGrowth {
	return &heapGrowth{start: heapSize(), limit: limit}
}

// exceedsWith tells it for a heap that is yet to grow by some more bytes. It makes sure that it is not garbage that the
// heap has grown by: the caller waits for the collection, and so takes no more meanwhile.
func (g *heapGrowth) exceedsWith(more uint64) bool {
	if heapSize()+more <= g.start+g.limit {
		return false
	}
	runtime.GC()
	return heapSize()+more > g.start+g.limit
}

// surelyExceeds needs no collection. The collector lets the heap grow to twice what is live (GOGC=100), so beyond that
// it is not garbage alone.
func (g *heapGrowth) surelyExceeds() bool {
	return heapSize() > 2*(g.start+g.limit)
}

func (g *heapGrowth) error() error {
	return fmt.Errorf("the script takes more than %d MiB of memory, the most it may", g.limit>>20)
}

// heapSize is the size in bytes of all objects, garbage that is not yet collected included.
func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
