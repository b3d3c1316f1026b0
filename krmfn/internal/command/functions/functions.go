// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functions is the command krmfn functions.
package functions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "functions [NAME]",
		Short: "List functions, or show the manual of one",
		Long: `List the functions that are built in. With --runner, list the functions of the function
runner: those with an executable, and those that have function pods.

With the NAME of a curated function, show its manual: what it does, its configuration, an
example, and how it differs from the function of that name in the catalog.

` + failure.Help,
		Example: `  krmfn functions
  krmfn functions set-namespace`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeName,
	}
	flags := runner.AddFlags(p, cmd.Flags())
	wantsJSON := output.AddFormatFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		json, err := wantsJSON()
		if err == nil {
			err = flags.Validate()
		}
		if err != nil {
			return err
		}
		if len(args) == 1 {
			return describe(p, flags, args[0], json)
		}
		list, err := list(cmd.Context(), p, flags)
		if err != nil {
			return err
		}
		if json {
			return report.WriteJSON(p.Out, document{list})
		}
		write(p.Out, list)
		return nil
	}
	return cmd
}

// completeName completes the one argument with the names of the curated functions.
func completeName(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, f := range functions.All() {
		if len(args) == 0 {
			names = append(names, cobra.CompletionWithDesc(f.Name, f.Summary))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

type document struct {
	Functions []function `json:"functions"`
}

type function struct {
	Name string `json:"name"`
	// Evaluator is what evaluates it: "exec", "pod", "builtin", "sandbox" or "engine".
	Evaluator string `json:"evaluator"`
	// Implementation is what the evaluator runs, for people.
	Implementation string `json:"implementation"`
	// Images are the references that it answers to; with AnyTag, whatever their tag.
	Images []string `json:"images"`
	AnyTag bool     `json:"anyTag"`
	// Summary says what the catalog's function of that name does; "" for others.
	Summary string `json:"summary,omitempty"`
}

func list(ctx context.Context, p *program.Program, flags *runner.Flags) ([]function, error) {
	ctx, cancel := flags.Limit(ctx)
	defer cancel()
	evaluator, disconnect, err := runner.Connect(ctx, p, flags)
	if err != nil {
		return nil, err
	}
	defer disconnect()
	listed, err := evaluator.ListFunctions(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, failure.Runner(fmt.Errorf("the function runner at %s supports only Porch's calls, which do not list functions: see its configuration for its images", flags.Address))
	}
	if err != nil {
		return nil, err
	}
	list := make([]function, 0, len(listed))
	for _, f := range listed {
		curated, _ := functions.Lookup(f.GetName())
		list = append(list, function{
			Name:           f.GetName(),
			Evaluator:      renderstatus.EvaluatorName(f.GetEvaluator()),
			Implementation: f.GetImplementation(),
			Images:         f.GetImages(),
			AnyTag:         f.GetAnyTag(),
			Summary:        curated.Summary,
		})
	}
	return list, nil
}

// anyName stands for the function's name in the patterns of images.
const anyName = "NAME"

// write writes a table. If all functions answer to images of the same patterns, these follow once, below it.
func write(out terminal.Stream, list []function) {
	patterns, alike := imagePatterns(list)
	heading := []string{"NAME", "EVALUATOR", "IMPLEMENTATION", "SUMMARY"}
	if !alike {
		heading = append(heading, "IMAGES")
	}
	rows := make([][]report.Cell, 0, len(list))
	for _, f := range list {
		name := report.Text(f.Name)
		name.Paint = out.Style.Bold
		row := []report.Cell{name, report.Text(f.Evaluator), report.Text(f.Implementation), report.Text(f.Summary)}
		if !alike {
			row = append(row, report.Text(strings.Join(f.Images, ", ")+tagNote(f)))
		}
		rows = append(rows, row)
	}
	report.WriteTable(out, heading, rows)
	if alike && len(patterns) > 0 {
		fmt.Fprintf(out, "\nImages%s:\n", tagNote(list[0]))
		for _, p := range patterns {
			fmt.Fprintf(out, "  %s\n", p)
		}
	}
}

func tagNote(f function) string {
	if f.AnyTag {
		return " (any tag)"
	}
	return ""
}

// imagePatterns returns the images of the functions with NAME in place of their names, if they are the same for all.
func imagePatterns(list []function) (patterns []string, alike bool) {
	for i, f := range list {
		own := make([]string, 0, len(f.Images))
		for _, image := range f.Images {
			repository, ok := strings.CutSuffix(image, f.Name)
			if !ok || (repository != "" && !strings.HasSuffix(repository, "/")) {
				return nil, false
			}
			own = append(own, repository+anyName)
		}
		slices.Sort(own)
		if i > 0 && (!slices.Equal(own, patterns) || f.AnyTag != list[0].AnyTag) {
			return nil, false
		}
		patterns = own
	}
	return patterns, true
}
