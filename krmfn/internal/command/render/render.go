// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package render is the command krmfn render.
package render

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/kptfile"
	"github.com/krmfn/krmfn/services/render/packages"
)

// noAttributionVariable is kpt's variable for leaving out the annotation that says what changed a resource.
const noAttributionVariable = "KRM_DISABLE_ATTRIBUTION"

type command struct {
	*program.Program
	runner    *runner.Flags
	output    *output.Flags
	allowExec bool
}

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "render [DIR]",
		Short: "Render a package: run the pipeline of its Kptfile",
		Long: `Render the package in a directory, by default the current one: run the mutators and
then the validators of its Kptfile, and of those of the packages below it. The package is
changed in place when all of them succeed; in any case its Kptfile tells how it went.

The tag of a function may be a version constraint, such as ~0.2 or ">=0.2 <1": before the
first function runs, the registry of its image is asked which tags there are, with the
credentials of Docker's or Podman's configuration, and the highest that satisfies is used.
It stands in results and status; the pipeline in the Kptfile keeps the constraint. Where
the registry cannot be asked, the curated functions do if their version satisfies, unless
there is --runner. No registry is asked because of other tags.

` + failure.Help,
		Example: `  krmfn render my-package
  krmfn render my-package --dry-run
  krmfn render my-package -o unwrap > rendered.yaml
  krmfn render my-package --runner localhost:9445`,
		Args: cobra.MaximumNArgs(1),
	}
	c := &command{Program: p, runner: runner.AddFlags(p, cmd.Flags()), output: output.AddFlags(cmd.Flags(), "the package itself")}
	cmd.Flags().BoolVar(&c.allowExec, "allow-exec", false, "allow functions that are command lines on this machine")
	runner.AddContainerFlags(cmd.Flags(), new(bool), "allow-network")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			args = []string{"."}
		}
		return c.run(cmd.Context(), args[0])
	}
	return cmd
}

func (c *command) run(ctx context.Context, dir string) (err error) {
	if err := errors.Join(c.runner.Validate(), c.output.Validate(), c.output.MakeResultsDir()); err != nil {
		return err
	}
	source, err := output.OpenDir(c.Program, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	options := render.Options{
		ImagePrefix: c.runner.ImagePrefix, Observe: c.Display(), NoAttribution: c.Getenv(noAttributionVariable) != "",
		WriteStatus: c.output.Target == "",
	}
	if c.allowExec {
		evaluator, done := c.runner.CommandLines(c.Program)
		defer done()
		options.Exec = evaluator
	}
	w := c.render(ctx, source, options)
	out := output.Output{Flags: *c.output, Program: c.Program, Dir: source}
	return hintBelow(w.Tree, out.Finish(ctx, w))
}

// render renders a package within the time that it may take.
func (c *command) render(ctx context.Context, source packages.Source, options render.Options) (w output.Work) {
	ctx, cancel := c.runner.Limit(ctx)
	defer cancel()
	evaluator, disconnect, err := runner.Connect(ctx, c.Program, c.runner)
	if err != nil {
		return output.Unreached(err)
	}
	defer disconnect()
	tags, done := c.runner.Tags()
	defer done()
	display := options.Observe
	options.Evaluator, options.Tags = evaluator, tags
	options.Observe = func(e render.Event) {
		w.Observe(e)
		display(e)
	}
	w.Result, w.Err = render.Package(ctx, source, options)
	return w
}

// hintBelow adds to the error of a directory that is no package where the next one below it is.
func hintBelow(tree *packages.Tree, err error) error {
	if tree == nil || !errors.Is(err, kptfile.ErrMissing) {
		return err
	}
	if dir, ok := tree.Topmost(); ok && dir != "." {
		return &failure.HintError{Err: err, Hint: "There is a package below it: krmfn render " + tree.Location(dir)}
	}
	return err
}
