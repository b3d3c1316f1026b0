// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"runtime/debug"
	"testing"
)

// The garbage collector's settings are global, so this test is not parallel.
func TestDelayAndRestore(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	t.Setenv("GOGC", "")
	Delay()
	if got, want := debug.SetGCPercent(1), 4400; got != want {
		t.Errorf("after Delay(), GOGC = %d, want %d", got, want)
	}
	Restore()
	if got, want := debug.SetGCPercent(50), 100; got != want {
		t.Errorf("after Restore(), GOGC = %d, want %d", got, want)
	}
	t.Setenv("GOGC", "50")
	Delay()
	Restore()
	if got, want := debug.SetGCPercent(100), 50; got != want {
		t.Errorf("GOGC = %d, want %d, that of the environment", got, want)
	}
}
