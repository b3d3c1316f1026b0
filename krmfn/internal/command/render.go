// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/kptfile"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// maxExecTime is how long a function that is a command line may run, as in kpt.
const maxExecTime = 5 * time.Minute

func (c *command) render() *cobra.Command {
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

` + exitHelp,
		Example: `  krmfn render my-package
  krmfn render my-package --dry-run
  krmfn render my-package -o unwrap > rendered.yaml
  krmfn render my-package --runner localhost:9445`,
		Args: cobra.MaximumNArgs(1),
	}
	runner, output := c.addRunnerFlags(cmd.Flags()), addOutputFlags(cmd.Flags(), "the package itself")
	allowExec := cmd.Flags().Bool("allow-exec", false, "allow functions that are command lines on this machine")
	addContainerFlags(cmd.Flags(), new(bool), "allow-network")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir := "."
		if len(args) > 0 {
			dir = args[0]
		}
		return c.runRender(cmd.Context(), dir, *allowExec, runner, output)
	}
	return cmd
}

func (c *command) runRender(ctx context.Context, dir string, allowExec bool, runner *runnerFlags, output *outputFlags) (err error) {
	if err := errors.Join(runner.validate(), output.validate(), makeResultsDir(output.resultsDir)); err != nil {
		return err
	}
	source, err := c.openDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	options := render.Options{
		ImagePrefix: runner.imagePrefix, Observe: c.display(), NoAttribution: c.getenv("KRM_DISABLE_ATTRIBUTION") != "",
		WriteStatus: output.output == "",
	}
	if allowExec {
		evaluator, done := c.commandLines(runner.maxListSize)
		defer done()
		options.Exec = evaluator
	}
	w := c.rendering(ctx, source, runner, options)
	return hintBelow(w.Tree, c.finish(ctx, source, w, output))
}

// commandLines returns what evaluates functions that are command lines. They are the user's own programs: they run where
// the user is, with all of the user's environment. Their output may have so many bytes.
func (c *command) commandLines(maxOutput int64) (_ evaluation.Evaluator, done func()) {
	processes := process.NewRunner(process.Limits{Stdout: maxOutput}, "")
	return commandLines{runtime.Exec{Runner: processes, Env: c.Environ}}, processes.Close
}

// commandLines are command lines with the time that each may take.
type commandLines struct{ runtime.Exec }

// Evaluate runs a command line.
func (l commandLines) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	return evaluation.WithMaximumTime(l.Exec, maxExecTime).Evaluate(ctx, req)
}

// hintBelow adds to the error of a directory that is no package where the next one below it is.
func hintBelow(tree *packages.Tree, err error) error {
	if tree == nil || !errors.Is(err, kptfile.ErrMissing) {
		return err
	}
	if dir, ok := tree.Topmost(); ok && dir != "." {
		return &hintError{err, "There is a package below it: krmfn render " + tree.Location(dir)}
	}
	return err
}

// openDir opens the directory that an argument names.
func (c *command) openDir(dir string) (*packages.Dir, error) {
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, &usageError{err}
	}
	if target != filepath.Clean(dir) {
		c.note("[WARN] resolved symlink %q to %q, please note that the symlinks within the package are ignored", dir, target)
	}
	info, err := os.Stat(target)
	if err != nil {
		return nil, &usageError{err}
	}
	if !info.IsDir() {
		return nil, &usageError{fmt.Errorf("%s is not a directory", dir)}
	}
	source, err := packages.OpenDir(target)
	if err != nil {
		return nil, &usageError{fmt.Errorf("%s cannot be opened: %w", dir, err)}
	}
	return source, nil
}
