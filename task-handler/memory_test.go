// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/krmfn/krmfn/task-handler/options"
)

// The memory limits the size of packages even if the flag allows more.
func TestLargestPackage(t *testing.T) {
	t.Parallel()
	limits := options.Limits{MaxMessageSize: 6 << 20, MaxPackageSize: 64 << 20}
	for memory, want := range map[int64]int64{
		100 << 20:  6 << 20,
		1200 << 20: 30 << 20,
		16 << 30:   64 << 20,
	} {
		if got := largestPackage(limits, memory); got != want {
			t.Errorf("largestPackage() with %d bytes of memory = %d, want %d", memory, got, want)
		}
	}
}
