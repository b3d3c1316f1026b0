// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package collector delays the first garbage collection of the command. Its init function runs before those of most packages, because it
// imports little: they allocate 8 MB, which would be collected twice before main starts.
package collector

import (
	"os"
	"runtime/debug"
)

// firstCollection is the size of the heap, in bytes, at which garbage is collected for the first time. Most renders end before. With
// 256 MiB, large renders take a third more memory.
const firstCollection = 176 << 20

func init() { Delay() }

// Delay delays the first garbage collection, unless the environment sets GOGC.
func Delay() { setPercent(percentUntil(firstCollection)) }

// Restore has garbage collected as often as is Go's default, unless the environment sets GOGC.
func Restore() { setPercent(100) }

func setPercent(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// percentUntil returns the GOGC with which a heap that has never been collected is collected at a size in bytes: the runtime's minimum heap
// is 4 MiB at a GOGC of 100.
func percentUntil(bytes int) int { return bytes / (4 << 20) * 100 }
