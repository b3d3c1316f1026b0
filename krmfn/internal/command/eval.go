// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/krmfn/internal/evaldir"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// stdin is the argument that stands for the standard input.
const stdin = "-"

func (c *command) eval() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval {--image IMAGE | --exec COMMAND} [DIR | - | FILE...] [-- [KIND] KEY=VALUE...]",
		Short: "Evaluate one function over a directory, files, or a ResourceList",
		Long: `Evaluate one function.

Over a directory, by default the current one, the function gets all resources in it,
those of packages below and Kptfiles too, and the files are changed in place. Over the
standard input, which is a ResourceList or documents, or over files, its output, a
ResourceList, goes to the standard output.

Behind -- are the values of a ConfigMap for the function, or of another KIND that
is written in front of them.

` + exitHelp,
		Example: `  krmfn eval --image set-labels my-package -- env=test
  krmfn eval --image set-namespace:v0.4 --match-kind Deployment --fn-config config.yaml
  krmfn eval --image set-labels:v0.2 --save --type mutator my-package -- env=test
  krmfn eval --image kubeconform - -o unwrap < resources.yaml`,
	}
	f := c.addEvalFlags(cmd.Flags())
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

func (c *command) runEval(ctx context.Context, f *evalFlags, inputs, values []string) error {
	if err := f.validate(inputs, values); err != nil {
		return err
	}
	config, err := readConfig(f.fnConfig, values)
	if err != nil {
		return &usageError{err}
	}
	c.warn(f.ineffective())
	if len(inputs) == 0 {
		inputs = []string{"."}
	}
	if inputs[0] != stdin && !isFile(inputs[0]) {
		return c.evalDir(ctx, f, inputs[0], config)
	}
	switch {
	case f.output.dryRun:
		return &usageError{errors.New("--dry-run is about changes in place: name a directory, or leave it out")}
	case f.save:
		return &usageError{errors.New("--save is about the Kptfile of a directory: name one, or leave it out")}
	}
	return c.evalList(ctx, f, inputs, config)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

func allFiles(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !isFile(name) })
}

// evalDir evaluates a function over a directory.
func (c *command) evalDir(ctx context.Context, f *evalFlags, name string, config *functionConfig) (err error) {
	dir, err := c.openDir(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	configFile, inside := config.inside(dir.Location())
	if f.save && config.file != "" && !inside {
		return &usageError{notUnder(dir.Location())}
	}
	d, err := evaldir.Read(dir)
	if err != nil {
		return err
	}
	var own []*yaml.RNode
	if inside {
		// The function is not to change its own configuration.
		own = d.Without(configFile)
	}
	w := c.evaluating(ctx, f, config.node, d.Resources)
	if w.err == nil {
		w.Tree, w.Resources = d.Tree, append(w.Resources, own...)
		w.Output, w.err = d.Output(w.Resources)
	}
	if err := c.finish(ctx, dir, w, f.output); err != nil || !f.save {
		return err
	}
	return c.saveFunction(dir, f, config)
}

// evaluating evaluates a function over resources within the time that it may take.
func (c *command) evaluating(ctx context.Context, f *evalFlags, config *yaml.RNode, resources []*yaml.RNode) (w work) {
	ctx, cancel := f.runner.limit(ctx)
	defer cancel()
	tags, done := f.runner.tags()
	defer done()
	options := render.Options{ImagePrefix: f.runner.imagePrefix, Tags: tags, Observe: c.display()}
	if f.image == "" {
		evaluator, done := c.commandLines(f.runner.maxListSize)
		defer done()
		options.Exec = evaluator
	} else {
		evaluator, disconnect, err := c.connect(ctx, f.runner)
		if err != nil {
			return work{Result: render.Result{Report: renderstatus.NewUnreached(err)}, err: err}
		}
		defer disconnect()
		options.Evaluator = evaluator
	}
	var record renderstatus.Function
	w.Resources, record, w.err = render.Function(ctx, f.function(), config, resources, options)
	w.Report = renderstatus.NewReport([]renderstatus.Function{record}, w.err)
	return w
}
