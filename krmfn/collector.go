// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/krmfn/krmfn/krmfn/internal/collector"
)

const (
	// collectorPercent is the GOGC from the first collection on.
	collectorPercent = 125
	// memoryLimit is from how many bytes on memory counts for more than time; less where the cgroup has a limit.
	memoryLimit = 2 << 30
	// cgroupShare is the share of the cgroup's memory limit that the heap may have.
	cgroupShare = .8
)

// spareCollector has garbage collected less often than is the default, unless the environment says how often, or how much memory
// there is: the command ends soon.
func spareCollector() {
	if os.Getenv("GOMEMLIMIT") == "" {
		limit := uint64(memoryLimit)
		if cgroup, err := memlimit.FromCgroup(); err == nil {
			limit = min(limit, uint64(float64(cgroup)*cgroupShare))
		}
		debug.SetMemoryLimit(int64(limit))
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	collector.Delay()
	// The first collection finds that nothing holds this.
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, collectorPercent)
}
