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
	flagstest.Reference(t, "../../docs/image-warmer-flags.md", flags.Reference(new(Options).Flags(),
		"go -C image-warmer test ./options -run TestReference -update", "[Image warmer](image-warmer.md) explains what it does. Arguments are images.",
		map[string]string{"prepull": "in a cluster"}))
}
