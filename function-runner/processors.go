// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime"
)

// smallHeap is memory that the garbage collector believes to be in use, and that is never touched, so that it takes none.
// Between calls next to nothing is alive, and the collector would run every few calls.
const smallHeap = 32 << 20

// yieldProcessors leaves half of the processors to the functions, which do the work. A runner that spreads over all of
// them wakes a sleeping one for every step of a call: with two, that is four fifths of what a call takes beyond its
// function. GOMAXPROCS in the environment takes precedence.
func yieldProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)/2, 1))
	}
}
