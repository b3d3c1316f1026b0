// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// The test's program is what functions are when it is started under their names.
func TestMain(m *testing.M) {
	if _, ok := Lookup(programName(os.Args[0])); ok {
		syscall.Exit(Command(os.Args, os.Stdin, os.Stdout, os.Stderr)) // os.Exit would let the race detector look back for a second
	}
	goleak.VerifyTestMain(m)
}

func lookup(tb testing.TB, name string) function.Function {
	tb.Helper()
	f, ok := Lookup(name)
	if !ok {
		tb.Fatalf("there is no function %q", name)
	}
	return f
}
