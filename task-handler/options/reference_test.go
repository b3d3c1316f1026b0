// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"testing"

	"github.com/krmfn/krmfn/internal/server/flags/flagstest"
)

// The reference of flags in the documentation matches the flags.
func TestReference(t *testing.T) {
	t.Parallel()
	flagstest.Reference(t, "../../docs/flags.md", new(Options).Flags(), "go -C task-handler test ./options -run TestReference -update")
}
