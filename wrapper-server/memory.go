// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/services/evaluation"
)

const (
	// memoryPerEvaluation is the amount of container memory, in bytes, per concurrent evaluation. A catalog function uses 30 MiB for a list
	// of 50 KiB, 92 MiB for 1 MiB and 430 MiB for 6 MiB.
	memoryPerEvaluation = 128 << 20
	// maxDefaultConcurrency is the default maximum number of concurrent evaluations.
	maxDefaultConcurrency = 8
)

// concurrency returns the default number of concurrent evaluations for a memory limit in bytes. err means that there is no limit.
func concurrency(limit uint64, err error) int {
	if err != nil {
		return maxDefaultConcurrency
	}
	return int(min(max(limit/memoryPerEvaluation, 1), maxDefaultConcurrency))
}

// idleTime is the time without evaluations after which memory is returned to the system.
const idleTime = 10 * time.Second

// memory returns the memory that lists of evaluations used to the system when the server is idle. Go would keep it for minutes, and a
// part of it until further evaluations. Most pods of a cluster are idle, and their memory should not exceed that of a pod that has run
// nothing.
type memory struct {
	gate *middleware.Gate
	// free returns the memory.
	free  func()
	begun atomic.Uint64
}

func newMemory(gate *middleware.Gate) *memory { return &memory{gate: gate, free: free} }

// free collects garbage twice, because buffers in pools such as gRPC's survive the first collection.
func free() {
	runtime.GC()
	debug.FreeOSMemory()
}

// counted returns an evaluator that counts the evaluations of e.
func (m *memory) counted(e evaluation.Evaluator) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		m.begun.Add(1)
		return e.Evaluate(ctx, req)
	})
}

// run returns memory when the server is idle, until ctx ends.
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
		// Evaluations are counted after they have entered the gate.
		begun := m.begun.Load()
		running, _ := m.gate.Load()
		if wasIdle && running == 0 && begun == last && begun != freed {
			m.free()
			freed = begun
		}
		last, wasIdle = begun, running == 0
	}
}
