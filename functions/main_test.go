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

// The test binary is the multi-call executable if it is started by the name of a function.
func TestMain(m *testing.M) {
	if _, ok := Lookup(programName(os.Args[0])); ok {
		syscall.Exit(Command(os.Args, os.Stdin, os.Stdout, os.Stderr)) // os.Exit would make the race detector wait for a second
	}
	goleak.VerifyTestMain(m)
}

func lookup(tb testing.TB, name string) function.Function {
	tb.Helper()
	f, ok := Lookup(name)
	if !ok {
		tb.Fatalf("unknown function %q", name)
	}
	return f
}
