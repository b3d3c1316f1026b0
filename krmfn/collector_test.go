// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// The garbage collector's settings are global, so this test is not parallel.
func TestSpareCollector(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	t.Run("the environment says how", func(t *testing.T) {
		t.Setenv("GOGC", "100")
		t.Setenv("GOMEMLIMIT", "3GiB")
		spareCollector()
		if got := gogc(); got != 100 {
			t.Errorf("got a GOGC of %d, want the 100 of before", got)
		}
		if got := debug.SetMemoryLimit(-1); got != limit {
			t.Errorf("got a memory limit of %d, want the %d of before", got, limit)
		}
	})
	t.Run("it does not", func(t *testing.T) {
		t.Setenv("GOGC", "")
		t.Setenv("GOMEMLIMIT", "")
		spareCollector()
		if got := debug.SetMemoryLimit(-1); got <= 0 || got > memoryLimit {
			t.Errorf("got a memory limit of %d, want at most %d", got, memoryLimit)
		}
		// The cleanup runs some time after the collection.
		limited, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for gogc() != collectorPercent {
			if limited.Err() != nil {
				t.Fatalf("after a collection, got a GOGC of %d, want %d", gogc(), collectorPercent)
			}
			runtime.GC()
		}
	})
}

// gogc is the GOGC of this process.
func gogc() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
