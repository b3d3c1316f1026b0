// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"runtime/debug"
	"testing"
)

// percent returns what the collector is set to.
func percent() int {
	now := debug.SetGCPercent(collectorPercent)
	debug.SetGCPercent(now)
	return now
}

func TestPressure(t *testing.T) { //nolint:paralleltest // the process has one collector
	for before, much := range map[int]int{collectorPercent: frugalPercent, 50: 50, -1: -1} {
		defer debug.SetGCPercent(debug.SetGCPercent(before))
		var p Pressure
		little := p.Hold(muchHeld)
		if got := percent(); got != before {
			t.Errorf("with little alive the collector is at %d, want %d", got, before)
		}
		more, most := p.Hold(1), p.Hold(muchHeld)
		if got := percent(); got != much {
			t.Errorf("with much alive the collector is at %d, want %d", got, much)
		}
		little()
		if got := percent(); got != much {
			t.Errorf("with less, but still much alive the collector is at %d, want %d", got, much)
		}
		most()
		more()
		if got := percent(); got != before {
			t.Errorf("with nothing alive the collector is at %d, want %d again", got, before)
		}
	}
}
