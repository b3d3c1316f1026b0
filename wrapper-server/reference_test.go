// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/krmfn/krmfn/internal/server/flags/flagstest"
)

// The reference page contains the descriptions of all flags.
func TestReference(t *testing.T) {
	t.Parallel()
	flagstest.Reference(t, "../docs/flags.md", new(options).flags(), "go -C wrapper-server test . -run TestReference -update")
}
