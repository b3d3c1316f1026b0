// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import "syscall"

// limitMemory sets a memory limit in bytes for this process, so that exceeding it ends only this process. It does nothing if
// the process already has a lower limit.
func limitMemory(limit uint64) {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &now); err != nil || limit > now.Max {
		return
	}
	// The function also works without the limit, so errors are ignored.
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: now.Max})
}
