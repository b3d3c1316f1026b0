// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"testing"

	"github.com/krmfn/krmfn/services/server/flags"
	"github.com/krmfn/krmfn/services/server/flags/flagstest"
)

const flagsPage = "../../docs/function-runner.md"

// The reference of flags says what the flags say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	page := flags.Reference(new(Options).Flags(), "go -C function-runner test ./options -run TestReference -update",
		"Flags may have one dash or two. A value that makes no sense is refused at start.",
		map[string]string{"max-concurrent-evaluations": "4 × processors"})
	flagstest.Reference(t, flagsPage, page)
}
