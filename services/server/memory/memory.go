// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory shares the memory that a server may use between itself and the processes that it starts.
package memory

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// machineShare is the share of the machine's memory that a server may use where its cgroup has no limit.
	machineShare = .5
	// kernelShare is the share that is nobody's: the kernel's pipes and sockets, and pages of files.
	kernelShare = .05
	// unknown is the limit, in bytes, where not even the machine's memory can be found out.
	unknown = 2 << 30
	// collectorPercent lets the heap grow to five times what is alive before the garbage collector runs. Between calls next to nothing
	// is alive, and with Go's default the collector would run every few calls.
	collectorPercent = 400
)

// Shares are what a server and its processes may use, in bytes.
type Shares struct {
	// Heap is the server's own.
	Heap int64
	// Executables is that of all processes together that the server starts.
	Executables int64
}

// Divide divides the memory limit of this process' cgroup: the server gets a share of it, above 0 and below 1, or what GOMEMLIMIT
// says, and its processes get the rest.
func Divide(share float64) Shares {
	limit, err := memlimit.FromCgroup()
	if err != nil {
		if limit, err = memlimit.FromSystem(); err != nil {
			limit = unknown / machineShare
		}
		limit = uint64(float64(limit) * machineShare)
	}
	return divide(float64(limit), share, debug.SetMemoryLimit(-1))
}

// divide takes the heap limit of the Go runtime, which is math.MaxInt64 for none.
func divide(limit, share float64, heapLimit int64) Shares {
	usable := limit * (1 - kernelShare)
	heap := limit * share
	if heapLimit != math.MaxInt64 {
		heap = float64(heapLimit)
	}
	heap = min(heap, usable)
	return Shares{Heap: int64(heap), Executables: int64(usable - heap)}
}

// LimitHeap has the garbage collector run seldom while there is memory, and often near a share of the cgroup's memory limit. GOGC
// and GOMEMLIMIT in the environment take precedence.
func LimitHeap(share float64, getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(collectorPercent)
	}
	// It fails where the cgroup has no limit.
	_, _ = memlimit.Set(memlimit.WithRatio(share))
}
