// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"regexp"
	"sync"

	"github.com/krmfn/krmfn/internal/middleware"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

const (
	// minMemory is the minimum memory limit of an executable, in bytes: enough for a Go or Python program with a small list.
	minMemory = 64 << 20
	// memoryPerByte is the memory that an executable may need per byte of its list. "make bench" measures it: set-labels
	// needs 30 with frequent garbage collection and 60 without, apply-replacements needs 70.
	memoryPerByte = 72
	// limitGranularity is the granularity of limits that depend on the list size, in bytes. Because limits are rounded up to it, a standby
	// process that was started with the limits of one call fits the next call, too.
	limitGranularity = 16 << 20
	// memoryPerStandby is the memory reserved per standby process, in bytes. A Go program uses a third of it while it waits for its list;
	// a Python or Node.js program uses all of it.
	memoryPerStandby = 24 << 20
	// maxStandby is the maximum number of standby processes. They also get at most a quarter of the memory.
	maxStandby = 32
)

// StandbyShare divides total bytes of memory. It returns the number of standby processes and the bytes left for executables that run.
func StandbyShare(total int64) (processes int, left int64) {
	processes = int(min(total/4/memoryPerStandby, maxStandby))
	return processes, total - int64(processes)*memoryPerStandby
}

// Memory divides memory among executables that run concurrently. Each has a limit, and the sum of the limits of all running executables
// does not exceed the budget.
type Memory struct {
	// Budget is shared by the running executables. At most as many calls wait for it as executables may run concurrently.
	Budget *middleware.Budget
	// share is the limit, in bytes, of each executable when the maximum number of executables run.
	share int64
}

// NewMemory divides total bytes among at most the given number of concurrent executables. Each gets an equal share, or more if its list
// is large.
func NewMemory(total int64, executables int) Memory {
	total = max(total, minMemory)
	return Memory{Budget: middleware.NewBudget(total, executables), share: max(total/int64(executables), minMemory)}
}

// Limit returns an evaluator that waits until memory for the request is available and then runs the program. If the program runs out of
// memory, the error is an *evaluation.ExhaustedError.
func (m Memory) Limit(f Function) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		need := memoryFor(len(req.ResourceList))
		reservation, err := m.Budget.Reserve(ctx, max(m.share, need))
		if err != nil {
			return evaluation.Response{}, err
		}
		defer reservation.Release()
		limited := f
		limited.Command = limit(f.Command, reservation.Bytes())
		limited.Command.NoStandby = limited.Command.NoStandby || need > m.smallListLimit()
		resp, err := limited.Evaluate(ctx, req)
		if err == nil && outOfMemory(resp.Report) {
			return evaluation.Response{}, &evaluation.ExhaustedError{Total: reservation.Bytes()}
		}
		return resp, err
	})
}

// Prepared returns the command with the limits that Limit sets for a small list. Use it to start standby processes.
func (m Memory) Prepared(c Command) Command {
	return limit(c, min(m.smallListLimit(), m.Budget.Total()))
}

// smallListLimit returns the limit, in bytes, for a small list. Most lists are small.
func (m Memory) smallListLimit() int64 { return max(m.share, minMemory+limitGranularity) }

// memoryFor returns the memory, in bytes, that an executable may need for a list of the given size.
func memoryFor(list int) int64 {
	need := minMemory + memoryPerByte*int64(list)
	return (need + limitGranularity - 1) / limitGranularity * limitGranularity
}

// limit returns the command with a memory limit in bytes.
func limit(c Command, bytes int64) Command {
	// GOMEMLIMIT is below the hard limit, because the garbage collector needs memory beyond the heap.
	c.MemoryLimit, c.MaxData = bytes/10*9, bytes+mappedUnused
	return c
}

// allocationFailed returns a regular expression for the messages that programs print when an allocation fails: programs in Go, C, Rust,
// C++, Python, Node.js and Java, and GNU tools. The Go runtime does not check all of its own allocations. It may then crash outside of
// any goroutine, which the stack trace shows as goroutine 0.
var allocationFailed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)^SIGSEGV: .{1,100}goroutine 0 |out of memory|pthread_create failed|cannot allocate|memory exhausted|memory allocation of|bad_alloc|MemoryError|OutOfMemoryError`)
})

func outOfMemory(report *evaluationv1.Evaluation) bool {
	switch report.GetFailure().GetReason() {
	case evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, evaluationv1.FailureReason_FAILURE_REASON_SIGNAL:
		return len(report.GetResults()) == 0 && allocationFailed().Match(report.GetStderr())
	}
	return false
}
