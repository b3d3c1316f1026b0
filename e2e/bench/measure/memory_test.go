// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"testing"

	"github.com/krmfn/krmfn/e2e/bench/measure"
)

func TestMemoryIn(t *testing.T) {
	t.Parallel()
	const status = "Name:\ta\nVmHWM:\t 9 kB\nVmRSS:\t   14372 kB\n"
	for field, want := range map[string]float64{"VmRSS": 14372 * 1024, "VmHWM": 9 * 1024} {
		if got, err := measure.MemoryIn(status, field); err != nil || got != want {
			t.Errorf("MemoryIn(%s) = %v, %v, want %v", field, got, err, want)
		}
	}
	if _, err := measure.MemoryIn("Name:\ta\n", "VmRSS"); err == nil {
		t.Error("MemoryIn() without the field succeeded, want an error")
	}
}
