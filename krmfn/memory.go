// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/krmfn/krmfn/internal/heap"
)

// The shares of the memory that the heap may take. The Go runtime limits garbage to cgroupShare of a cgroup's memory, and to much less
// without a cgroup, where other programs need memory, too.
const (
	maxCgroupShare  = .85
	maxMachineShare = .8
)

// heapLimit returns the maximum size of the heap in bytes, or 0 if the memory of this machine is unknown.
func heapLimit() uint64 {
	if cgroup, err := memlimit.FromCgroup(); err == nil {
		return uint64(maxCgroupShare * float64(cgroup))
	}
	machine, _ := memlimit.FromSystem() // 0 with an error
	return uint64(maxMachineShare * float64(machine))
}

// watchHeap calls end with a message when the heap exceeds a limit, unless the limit is 0. Functions that run in this process may ignore
// their contexts. Without watchHeap, the kernel would end the command, or another program, for lack of memory. The caller must call stop.
func watchHeap(ctx context.Context, limit uint64, end func(message string)) (stop func()) {
	if limit == 0 {
		return func() {}
	}
	exceeded := fmt.Errorf("krmfn: functions take more than %d MiB of memory: run each in its own process with --isolate", limit>>20)
	watched, stop := heap.WatchSize(context.WithoutCancel(ctx), limit, exceeded)
	context.AfterFunc(watched, func() {
		if cause := context.Cause(watched); errors.Is(cause, exceeded) {
			end(cause.Error())
		}
	})
	return stop
}
