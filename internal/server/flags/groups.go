// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

const (
	// groupAnnotation is the annotation of a flag with the name of its group.
	groupAnnotation = "krmfn.dev/group"
	// helpColumns is the width of help.
	helpColumns = 120
)

// Group adds the flags of a set that have no group yet to a group. A set must not sort its flags: groups and their flags are shown in
// the order in which they were added.
func Group(set *pflag.FlagSet, name string) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[groupAnnotation] == nil {
			f.Annotations = map[string][]string{groupAnnotation: {name}}
		}
	})
}

// group is a group of flags.
type group struct {
	name  string
	flags *pflag.FlagSet
}

func groups(set *pflag.FlagSet) []*group {
	var all []*group
	byName := map[string]*group{}
	set.VisitAll(func(f *pflag.Flag) {
		name := strings.Join(f.Annotations[groupAnnotation], "")
		g := byName[name]
		if g == nil {
			g = &group{name, pflag.NewFlagSet(name, pflag.ContinueOnError)}
			g.flags.SortFlags = false
			byName[name], all = g, append(all, g)
		}
		g.flags.AddFlag(f)
	})
	return all
}

// Text returns the help of a command: its summary, how it is called, and its flags in their groups.
func Text(summary, usage string, set *pflag.FlagSet) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\nUsage: %s\n", summary, usage)
	for _, g := range groups(set) {
		fmt.Fprintf(&text, "\n%s:\n%s", g.name, g.flags.FlagUsagesWrapped(helpColumns))
	}
	return text.String()
}

// Reference returns the flags of a set in Markdown: a heading of the third level and a table for each group.
func Reference(set *pflag.FlagSet) string {
	var text strings.Builder
	for _, g := range groups(set) {
		fmt.Fprintf(&text, "### %s\n\n| flag | default | |\n| --- | --- | --- |\n", g.name)
		g.flags.VisitAll(func(f *pflag.Flag) {
			value := ""
			if f.DefValue != "" && f.DefValue != "[]" {
				value = "`" + f.DefValue + "`"
			}
			fmt.Fprintf(&text, "| `--%s` | %s | %s |\n", f.Name, value, f.Usage)
		})
		text.WriteByte('\n')
	}
	return text.String()
}
