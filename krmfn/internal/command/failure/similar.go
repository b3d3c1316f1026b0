// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"strings"

	"github.com/spf13/cobra"
)

// Similar returns the names that a mistyped word may have been meant for: within two edits, or that go on where it ends. They are
// joined by "or"; "" is none. cobra compares them, as it does for commands.
func Similar(word string, names []string) string {
	compared := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range names {
		compared.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	return strings.Join(compared.SuggestionsFor(word), " or ")
}
