// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"testing"

	"github.com/krmfn/krmfn/services/server/flags"
	"github.com/krmfn/krmfn/services/server/flags/flagstest"
)

// The reference of flags says what the flags say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	flagstest.Reference(t, "../../docs/pod-janitor-flags.md", flags.Reference(new(Options).Flags(),
		"go -C pod-janitor test ./options -run TestReference -update", "[Pod janitor](pod-janitor.md) explains what it does and when.", nil))
}
