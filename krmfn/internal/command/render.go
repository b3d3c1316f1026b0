// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/packages"
	"github.com/krmfn/krmfn/services/process"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/renderstatus"
	"github.com/krmfn/krmfn/services/runtime"
)

// maxExecTime is how long a function that is a command line may run, as in kpt.
const maxExecTime = 5 * time.Minute

func (c *command) render() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "render [DIR]",
		Short: "Render a package: run the pipeline of its Kptfile",
		Long: `Render the package in a directory, by default the current one: run the mutators and
then the validators of its Kptfile. The package is changed in place, and only when
all of them succeed.

` + exitHelp,
		Example: `  krmfn render my-package
  krmfn render my-package --dry-run
  krmfn render my-package -o unwrap > rendered.yaml
  krmfn render my-package --runner localhost:9445`,
		Args: cobra.MaximumNArgs(1),
	}
	runner, output := c.addRunnerFlags(cmd.Flags()), addOutputFlags(cmd.Flags(), "the package itself")
	allowExec := cmd.Flags().Bool("allow-exec", false, "allow functions that are command lines on this machine")
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
	source, err := openDir(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	options := render.Options{
		ImagePrefix: runner.imagePrefix, Observe: c.display(), NoAttribution: c.getenv("KRM_DISABLE_ATTRIBUTION") != "",
	}
	if allowExec {
		// They are the user's own programs: they run where the user is, with all of the user's environment.
		processes := process.NewRunner(process.Limits{}, "")
		defer processes.Close()
		options.Exec = evaluation.WithMaximumTime(runtime.Exec{Runner: processes, Env: c.Environ}, maxExecTime)
	}
	return c.finish(ctx, source, c.rendering(ctx, source, runner, options), output)
}

// openDir opens the directory that an argument names.
func openDir(dir string) (*packages.Dir, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, &usageError{fmt.Errorf("%s cannot be opened: %w", dir, err)}
	}
	if !info.IsDir() {
		return nil, &usageError{fmt.Errorf("%s is not a directory", dir)}
	}
	source, err := packages.OpenDir(dir)
	if err != nil {
		return nil, &usageError{fmt.Errorf("%s cannot be opened: %w", dir, err)}
	}
	return source, nil
}

// work is a render that is over.
type work struct {
	render.Result
	// packages is how many packages there were.
	packages int
	// err is why it failed; nil when it succeeded.
	err error
}

// rendering renders a package within the time that it may take.
func (c *command) rendering(ctx context.Context, source packages.Source, runner *runnerFlags, options render.Options) (w work) {
	ctx, cancel := runner.limit(ctx)
	defer cancel()
	evaluator, disconnect, err := c.connect(ctx, runner)
	if err != nil {
		return work{Result: render.Result{Report: renderstatus.NewUnreached(err)}, err: err}
	}
	defer disconnect()
	display := options.Observe
	options.Evaluator = evaluator
	options.Observe = func(e render.Event) {
		if _, ok := e.(*render.PackageStarted); ok {
			w.packages++
		}
		display(e)
	}
	w.Result, w.err = render.Package(ctx, source, options)
	return w
}
