// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func lookup(tb testing.TB, name string) function.Function {
	tb.Helper()
	f, ok := Lookup(name)
	if !ok {
		tb.Fatalf("there is no function %q", name)
	}
	return f
}
