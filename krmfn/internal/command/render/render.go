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
	noStatus  bool
	plan      bool
	watched   bool
}

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "render [DIR]",
		Short: "Render a package: run the pipeline of its Kptfile",
		Long: `Render the package in a directory, by default the current one: run the mutators and then
the validators of its Kptfile and of the packages below it. If all of them succeed, the
package is changed in place. The status in the Kptfile records the outcome in any case,
unless --no-status is set.

--check writes nothing. It lists the files that a render would change, and exits with
code 5 if there are any, for CI and pre-commit hooks. The status in the Kptfile does not
count as a change. Add --dry-run to see the changes.

--plan runs nothing. It prints the packages in the order in which they would be rendered,
their functions, and where each would run. It contacts neither registries nor function
runners, so it prints version constraints as they are.

--watch renders again whenever a file of the package changes, and shows what each render
changed. A failed render does not stop it. Ctrl-C stops it with exit code 0.

The tag of a function may be a version constraint, such as ~0.2 or ">=0.2 <1". Before the
first function runs, the command lists the tags in the image's registry, with the
credentials of Docker's or Podman's configuration, and uses the highest tag that satisfies
the constraint. Results and status name that tag; the Kptfile keeps the constraint. If the
registry cannot be reached, the command uses the releases that it knows of its curated
functions, unless --runner is set. Other tags need no registry.

` + failure.Help,
		Example: `  krmfn render my-package
  krmfn render my-package --dry-run
  krmfn render my-package --check
  krmfn render my-package --plan
  krmfn render my-package --watch
  krmfn render my-package -o unwrap > rendered.yaml
  krmfn render my-package --runner localhost:9445`,
	}
	c := &command{Program: p, runner: runner.AddFlags(p, cmd.Flags()), output: output.AddFlags(cmd.Flags(), "the package itself")}
	cmd.Flags().BoolVar(&c.allowExec, "allow-exec", false, "allow functions with exec, which run commands on this machine")
	cmd.Flags().BoolVar(&c.output.Check, "check", false, "write nothing, list the files that would change, and exit with code 5 if there are any")
	cmd.Flags().BoolVar(&c.plan, "plan", false, "run nothing, and print the packages, their functions, and where each would run")
	cmd.Flags().BoolVar(&c.watched, "watch", false, "render again whenever a file of the package changes, and show what changed")
	cmd.Flags().BoolVar(&c.noStatus, "no-status", false, "do not update the status in the Kptfile (conditions and renderStatus)")
	c.runner.AddContainerFlags(cmd.Flags(), "allow-network")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			args = []string{"."}
		}
		p.WarnIgnored(args[1:])
		return c.run(cmd.Context(), args[0])
	}
	return cmd
}

// validate checks the flags that exclude each other.
func (c *command) validate() error {
	switch {
	case c.plan && (c.output.Check || c.output.DryRun):
		return failure.Usage(errors.New("--plan runs no function and cannot show changes: leave out --plan, or --check and --dry-run"))
	case c.watched && (c.plan || c.output.Check || c.output.Target != ""):
		return failure.Usage(errors.New("--watch renders in place until it is interrupted: leave out --check, --plan and --output"))
	case c.plan && (c.output.Target != "" || c.output.ResultsDir != ""):
		return failure.Usage(errors.New("--plan runs no function and has no output: leave out --output and --results-dir"))
	}
	return nil
}

func (c *command) run(ctx context.Context, dir string) error {
	if err := errors.Join(c.runner.Validate(), c.output.Validate(), c.validate()); err != nil {
		return err
	}
	if err := c.output.MakeResultsDir(); err != nil {
		return err
	}
	switch {
	case c.plan:
		return c.printPlan(dir)
	case c.watched:
		return c.watch(ctx, dir)
	}
	_, err := c.once(ctx, dir)
	return err
}

// once renders the package once.
func (c *command) once(ctx context.Context, dir string) (w output.Work, err error) {
	source, err := output.OpenDir(c.Program, dir)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := c.output.Lock(source, !c.noStatus); err != nil {
		return w, err
	}
	c.runner.Package = source.Location()
	c.ResultsFile = c.output.ResultsFile()
	options := render.Options{
		ImagePrefix: c.runner.ImagePrefix, Observe: c.Display(), NoAttribution: c.Getenv(noAttributionVariable) != "",
		WriteStatus: c.output.Target == "" && !c.output.Check && !c.noStatus, AllowDeletion: c.output.Deletes(),
	}
	if c.allowExec {
		evaluator, done := c.runner.CommandLines(c.Program)
		defer done()
		options.Exec = evaluator
	}
	w = c.render(ctx, source, options)
	out := output.Output{Flags: *c.output, Program: c.Program, Dir: source, Named: dir}
	return w, hintBelow(w.Tree, out.Finish(ctx, w))
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
