// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"regexp"
	"sync"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

const (
	// leastMemory is what each executable may have at least: a program of Go or Python with a small list.
	leastMemory = 64 << 20
	// memoryPerByte is how many bytes of memory an executable may need for each byte of its list. BenchmarkProcessMemory in e2e/bench
	// measures it: set-labels needs 30 where it collects its garbage often, and 60 where it does not; apply-replacements 70.
	memoryPerByte = 72
	// memoryClass is what parts are multiples of, where they depend on the list: what waits for a call has the limits of its part.
	memoryClass = 16 << 20
	// memoryOfSpare is what a process has that waits for its list: a program of Go a third, one of Python or Node.js all of it.
	memoryOfSpare = 24 << 20
	// mostSpares of them wait, and they have a quarter of the memory at most.
	mostSpares = 32
)

// Spares returns how many processes may wait for their lists, of a total of memory in bytes, and what is left for those that run.
func Spares(total int64) (spares int, left int64) {
	spares = int(min(total/4/memoryOfSpare, mostSpares))
	return spares, total - int64(spares)*memoryOfSpare
}

// Memory divides an amount of memory among the executables that run at once. Each has a limit, and the limits of all that run add up to
// no more than the budget.
type Memory struct {
	// Budget is shared by the executables that run. As many calls may wait for it as executables may run at once.
	Budget *evaluation.Budget
	// fair is the limit of each executable while as many run as may.
	fair int64
}

// NewMemory returns the memory, in bytes, of as many executables as may run at once. Each may have its fair part, and more if its list is
// large.
func NewMemory(total int64, executables int) Memory {
	total = max(total, leastMemory)
	return Memory{Budget: evaluation.NewBudget(total, executables), fair: max(total/int64(executables), leastMemory)}
}

// Limit runs a program once there is memory for it. One that needs more than it may have ends in an *evaluation.ExhaustedError.
func (m Memory) Limit(f Function) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		part := partOf(len(req.ResourceList))
		reservation, err := m.Budget.Reserve(ctx, max(m.fair, part))
		if err != nil {
			return evaluation.Response{}, err
		}
		defer reservation.Release()
		limited := f
		limited.Command = limit(f.Command, reservation.Bytes())
		limited.Command.NoStandby = limited.Command.NoStandby || part > m.small()
		resp, err := limited.Evaluate(ctx, req)
		if err == nil && outOfMemory(resp.Report) {
			return evaluation.Response{}, &evaluation.ExhaustedError{Total: reservation.Bytes()}
		}
		return resp, err
	})
}

// Prepared returns the command of a program as Limit runs it for a small list.
func (m Memory) Prepared(c Command) Command {
	return limit(c, min(m.small(), m.Budget.Total()))
}

// small is the part of each whose list is small, as nearly all are.
func (m Memory) small() int64 { return max(m.fair, leastMemory+memoryClass) }

// partOf returns what an executable may need for a list of so many bytes.
func partOf(list int) int64 {
	need := leastMemory + memoryPerByte*int64(list)
	return (need + memoryClass - 1) / memoryClass * memoryClass
}

// limit limits a command to a part of the memory.
func limit(c Command, part int64) Command {
	// What a collector keeps itself comes on top of its limit.
	c.MemoryLimit, c.MaxData = part/10*9, part+mappedUnused
	return c
}

// refused returns the expression of what programs print when the system refuses them memory: programs in Go, C, GNU, Rust, C++, Python,
// Node.js and Java. Go's runtime does not check all memory that it gets, and may crash outside of all goroutines, which is goroutine 0.
var refused = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)^SIGSEGV: .{1,100}goroutine 0 |out of memory|pthread_create failed|cannot allocate|memory exhausted|memory allocation of|bad_alloc|MemoryError|OutOfMemoryError`)
})

func outOfMemory(report *evaluationv1.Evaluation) bool {
	switch report.GetFailure().GetReason() {
	case evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, evaluationv1.FailureReason_FAILURE_REASON_SIGNAL:
		return len(report.GetResults()) == 0 && refused().Match(report.GetStderr())
	}
	return false
}
