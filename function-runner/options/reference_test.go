// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"testing"

	"github.com/krmfn/krmfn/services/server/flags"
	"github.com/krmfn/krmfn/services/server/flags/flagstest"
)

const flagsPage = "../../docs/function-runner.md"

// The reference in the documentation matches the help texts of the flags.
func TestReference(t *testing.T) {
	t.Parallel()
	page := flags.Reference(new(Options).Flags(), "go -C function-runner test ./options -run TestReference -update",
		"Flags take one dash or two. The function runner refuses invalid values at the start.",
		map[string]string{"max-concurrent-evaluations": "4 × processors"})
	flagstest.Reference(t, flagsPage, page)
}
