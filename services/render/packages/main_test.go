// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Args[0] == applyProgram {
		os.Exit(applyAlone(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
