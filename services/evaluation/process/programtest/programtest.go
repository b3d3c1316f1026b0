// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package programtest puts programs in place for tests that run them.
package programtest

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a program to a file that may be run as soon as Write returns. No process that starts meanwhile, of another test for
// instance, inherits the open file: as long as any process can write to a file, the kernel refuses to run it (text file busy).
func Write(tb testing.TB, file, text string) {
	tb.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		tb.Fatal(err)
	}
}
