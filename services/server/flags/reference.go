// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Reference returns the page, in Markdown, that documents a command's flags by what they say of themselves: a title, how the
// page is made, what else there is to say, and a table. defaults are the words for those that differ from machine to
// machine.
func Reference(set *pflag.FlagSet, generate, text string, defaults map[string]string) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# Flags of %s\n\nThis page is generated from the flags: `%s`.\n\n%s\n\n| flag | default | |\n| --- | --- | --- |\n",
		set.Name(), generate, text)
	set.VisitAll(func(f *pflag.Flag) {
		value, given := defaults[f.Name]
		if !given && f.DefValue != "" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(&page, "| `--%s` | %s | %s |\n", f.Name, value, f.Usage)
	})
	return page.String()
}
