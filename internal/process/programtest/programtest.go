// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package programtest writes executables for tests.
package programtest

import (
	"os"
	"syscall"
	"testing"
)

// Write writes an executable file that can be run as soon as Write returns. It prevents that a process started concurrently, for
// example by another test, inherits the open file. While any process has the file open for writing, the kernel refuses to execute it
// (ETXTBSY).
func Write(tb testing.TB, file, text string) {
	tb.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		tb.Fatal(err)
	}
}
