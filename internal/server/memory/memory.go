// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory divides a server's memory limit between the server and its child processes.
package memory

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// machineShare is the part of the machine's memory that a server may use if its cgroup has no limit.
	machineShare = .5
	// kernelShare is the part that is left to the kernel: pipes, sockets and the page cache.
	kernelShare = .05
	// defaultLimit is the limit in bytes if even the machine's memory is unknown.
	defaultLimit = 2 << 30
	// collectorPercent is the value for GOGC: the heap may grow to five times the live data. Between calls there is little live
	// data, and with Go's default the collector would run every few calls.
	collectorPercent = 400
)

// Shares are the memory limits of a server and its processes in bytes.
type Shares struct {
	// Heap is the limit of the server's own heap.
	Heap int64
	// Executables is the limit of all processes that the server starts, in total.
	Executables int64
}

// Divide divides the memory limit of this process's cgroup. The server's heap gets share, which is between 0 and 1 exclusively,
// or the value of GOMEMLIMIT. Its processes get the rest.
func Divide(share float64) Shares {
	limit, err := memlimit.FromCgroup()
	if err != nil {
		if limit, err = memlimit.FromSystem(); err != nil {
			limit = defaultLimit / machineShare
		}
		limit = uint64(float64(limit) * machineShare)
	}
	return divide(float64(limit), share, debug.SetMemoryLimit(-1))
}

// divide is Divide without system calls. heapLimit is the Go runtime's limit; math.MaxInt64 means none.
func divide(limit, share float64, heapLimit int64) Shares {
	usable := limit * (1 - kernelShare)
	heap := limit * share
	if heapLimit != math.MaxInt64 {
		heap = float64(heapLimit)
	}
	heap = min(heap, usable)
	return Shares{Heap: int64(heap), Executables: int64(usable - heap)}
}

// LimitHeap makes the garbage collector run rarely while there is enough memory, and often near share of the cgroup's memory
// limit. GOGC and GOMEMLIMIT in the environment take precedence.
func LimitHeap(share float64, getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(collectorPercent)
	}
	// Without a cgroup limit, this fails and the heap stays unlimited.
	_, _ = memlimit.Set(memlimit.WithRatio(share))
}
