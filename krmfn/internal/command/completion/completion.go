// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package completion completes the values of flags and arguments in shells.
package completion

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// values complete the flags of a name, whichever command has them.
var values = map[string]cobra.CompletionFunc{
	"color":             choice(terminal.Auto, terminal.Always, terminal.Never),
	"format":            choice(output.Formats()...),
	"image":             images,
	"image-pull-policy": choice(runner.PullPolicies()...),
	"runtime":           list(runner.Runtimes()),
	"type":              choice("mutator", "validator"),
	"results-dir":       directories,
}

// Add adds completions to a command and all below it, but for those that a command has already.
func Add(cmd *cobra.Command) {
	if strings.Contains(cmd.Use, "DIR") && !strings.Contains(cmd.Use, "FILE") && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = directories
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		complete := values[f.Name]
		if f.Name == "output" {
			complete = outputs(f)
		}
		if _, has := cmd.GetFlagCompletionFunc(f.Name); has || complete == nil {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // only for a flag that does not exist
		}
	})
	for _, below := range cmd.Commands() {
		Add(below)
	}
}

func choice(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

func directories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// outputs completes --output, which is a form of what a command prints, or where a package goes.
func outputs(f *pflag.Flag) cobra.CompletionFunc {
	switch f.DefValue {
	case output.Stdout:
		return choice(output.Stdout, output.Unwrap)
	default:
		return cobra.FixedCompletions(output.Targets(), cobra.ShellCompDirectiveDefault)
	}
}

// images completes the names of the curated functions.
func images(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all := functions.All()
	names := make([]cobra.Completion, 0, len(all))
	for _, f := range all {
		names = append(names, cobra.CompletionWithDesc(f.Name, f.Summary))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// list completes lists of names with commas between them, each name once.
func list(names []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		var completions []cobra.Completion
		for _, name := range names {
			if !slices.Contains(strings.Split(before, ","), name) {
				completions = append(completions, before+name)
			}
		}
		return completions, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
