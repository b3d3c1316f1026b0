// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"runtime"
)

// YieldProcessors leaves half of the processors to the functions, which do the work. A server that spreads over all of them
// wakes a sleeping one for every step of a call: with two, that is four fifths of what a call takes beyond its function.
// GOMAXPROCS in the environment takes precedence. It is for main functions.
func YieldProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)/2, 1))
	}
}
