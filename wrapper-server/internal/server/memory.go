// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/krmfn/krmfn/services/evaluation"
)

const (
	// perEvaluation is the memory of the container that an evaluation counts for, by default. A function of the catalog takes
	// 30 MiB for a list of 50 KiB, 92 MiB for one of 1 MiB and 430 MiB for one of 6 MiB.
	perEvaluation = 128 << 20
	// mostConcurrent evaluations run at once, by default.
	mostConcurrent = 8
)

// concurrency returns how many evaluations run at once in a container with a memory limit, in bytes. An error means that it has
// none.
func concurrency(limit uint64, err error) int {
	if err != nil {
		return mostConcurrent
	}
	return int(min(max(limit/perEvaluation, 1), mostConcurrent))
}

// idleTime is how long nothing must have run before memory is given back.
const idleTime = 10 * time.Second

// memory gives back to the system what the lists of evaluations have taken, once nothing runs any more. Go would keep it for
// minutes, a part of it until there are more evaluations, and most pods of a cluster are idle: they request what one takes that
// has never run anything.
type memory struct {
	gate *evaluation.Gate
	// free gives the memory back.
	free  func()
	begun atomic.Uint64
}

func newMemory(gate *evaluation.Gate) *memory { return &memory{gate: gate, free: free} }

// free collects garbage twice: what is in pools, such as gRPC's of buffers, outlives the first.
func free() {
	runtime.GC()
	debug.FreeOSMemory()
}

// noted notes the evaluations of e.
func (m *memory) noted(e evaluation.Evaluator) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		m.begun.Add(1)
		return e.Evaluate(ctx, req)
	})
}

// run gives back memory until ctx ends.
func (m *memory) run(ctx context.Context) {
	every := time.NewTicker(idleTime)
	defer every.Stop()
	var last, freed uint64
	wasIdle := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		// What has been noted has entered the gate.
		begun := m.begun.Load()
		running, _ := m.gate.Load()
		if wasIdle && running == 0 && begun == last && begun != freed {
			m.free()
			freed = begun
		}
		last, wasIdle = begun, running == 0
	}
}
