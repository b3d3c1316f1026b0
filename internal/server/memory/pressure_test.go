// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"runtime/debug"
	"testing"
)

// percent returns the current GOGC value.
func percent() int {
	now := debug.SetGCPercent(collectorPercent)
	debug.SetGCPercent(now)
	return now
}

func TestPressure(t *testing.T) { //nolint:paralleltest // the process has one collector
	for before, much := range map[int]int{collectorPercent: frugalPercent, 50: 50, -1: -1} {
		defer debug.SetGCPercent(debug.SetGCPercent(before))
		var p Pressure
		little := p.Hold(pressureThreshold)
		if got := percent(); got != before {
			t.Errorf("GOGC = %d with little live data, want %d", got, before)
		}
		more, most := p.Hold(1), p.Hold(pressureThreshold)
		if got := percent(); got != much {
			t.Errorf("GOGC = %d with much live data, want %d", got, much)
		}
		little()
		if got := percent(); got != much {
			t.Errorf("GOGC = %d with less but still much live data, want %d", got, much)
		}
		most()
		more()
		if got := percent(); got != before {
			t.Errorf("GOGC = %d after all data was released, want %d", got, before)
		}
	}
}
