// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import "syscall"

// limitMemory bounds the memory that this process may have, in bytes: one that asks for more ends, and takes nothing from
// others. It does nothing where the process has a lower bound already.
func limitMemory(limit uint64) {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &now); err != nil || limit > now.Max {
		return
	}
	// Without the limit the function works all the same, so an error changes nothing.
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: now.Max})
}
