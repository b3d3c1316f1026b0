// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/progress"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/functions"
	"github.com/krmfn/krmfn/services/image"
	"github.com/krmfn/krmfn/services/render"
)

// stdin is the argument that stands for the standard input.
const stdin = "-"

// evalFlags say which function is evaluated, and with what.
type evalFlags struct {
	image, tag string
	fnConfig   string
	runner     *runnerFlags
	output     *outputFlags
}

func (c *command) eval() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval --image IMAGE [DIR | FILE... | -] [-- [KIND] KEY=VALUE...]",
		Short: "Evaluate one function over a directory, files, or a ResourceList",
		Long: `Evaluate one function.

Over a directory, the function gets all resources in it but Kptfiles, and the files
are changed in place. Over files, or the standard input without an argument, it gets
their resources, and its output, a ResourceList, goes to the standard output.

Behind -- are the values of a ConfigMap for the function, or of another KIND that
is written in front of them.

` + exitHelp,
		Example: `  krmfn eval --image set-labels my-package -- env=test
  krmfn eval --image set-namespace:v0.4 --fn-config config.yaml -o unwrap < resources.yaml
  krmfn eval --image kubeconform deployment.yaml service.yaml -o json`,
	}
	f := &evalFlags{}
	cmd.Flags().StringVarP(&f.image, "image", "i", "", "image of the function; needed")
	cmd.Flags().StringVar(&f.tag, "tag", "", "tag in place of the image's own")
	cmd.Flags().StringVar(&f.fnConfig, "fn-config", "", "file with the functionConfig")
	f.runner, f.output = c.addRunnerFlags(cmd.Flags()), addOutputFlags(cmd.Flags(), "the directory itself, or stdout for other input")
	if err := cmd.RegisterFlagCompletionFunc("image", completeImage); err != nil {
		panic(err) // only for a flag that there is not
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		inputs, values := args, []string(nil)
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			inputs, values = args[:dash], args[dash:]
		}
		return c.runEval(cmd.Context(), f, inputs, values)
	}
	return cmd
}

func completeImage(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all := functions.All()
	names := make([]cobra.Completion, 0, len(all))
	for _, f := range all {
		names = append(names, cobra.CompletionWithDesc(f.Name, f.Summary))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (f *evalFlags) validate(values []string) error {
	switch {
	case f.image == "":
		return &usageError{errors.New("must specify --image")}
	case f.fnConfig != "" && len(values) > 0:
		return &usageError{errors.New("function arguments can only be specified without function config file")}
	}
	if err := errors.Join(f.runner.validate(), f.output.validate()); err != nil {
		return err
	}
	if _, err := image.ForFunction(f.image, f.tag, f.runner.imagePrefix); err != nil {
		return &usageError{err}
	}
	return makeResultsDir(f.output.resultsDir)
}

func (c *command) runEval(ctx context.Context, f *evalFlags, inputs, values []string) error {
	if err := f.validate(values); err != nil {
		return err
	}
	config, err := readConfig(f.fnConfig, values)
	if err != nil {
		return &usageError{err}
	}
	if len(inputs) == 1 && inputs[0] != stdin && isDir(inputs[0]) {
		return c.evalDir(ctx, f, inputs[0], config)
	}
	if len(inputs) == 0 && terminal.IsTerminal(c.In) {
		return &usageError{errors.New("name a directory or files to evaluate over, or pipe resources in")}
	}
	if f.output.dryRun {
		return &usageError{errors.New("--dry-run is about changes in place: name a directory, or leave it out")}
	}
	return c.evalList(ctx, f, inputs, config)
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// evalDir evaluates a function over a directory.
func (c *command) evalDir(ctx context.Context, f *evalFlags, name string, config *functionConfig) (err error) {
	dir, err := openDir(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	source, err := config.source(dir, f.image, f.tag)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	w := c.rendering(ctx, source, f.runner, render.Options{
		ImagePrefix: f.runner.imagePrefix, Observe: withoutPackages(c.display()), NoAttribution: true,
	})
	source.Clean(&w.Result)
	w.packages = 0
	return c.finish(ctx, dir, w, f.output)
}

// withoutPackages leaves out the events of packages: an evaluation has none.
func withoutPackages(display progress.Display) progress.Display {
	return func(e render.Event) {
		switch e.(type) {
		case *render.FunctionStarted, *render.FunctionFinished:
			display(e)
		}
	}
}
