// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package eval is the command krmfn eval.
package eval

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/krmfn/internal/command/eval/directory"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// stdin is the argument that stands for the standard input.
const stdin = "-"

type command struct {
	*program.Program
	*flags
}

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
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

` + failure.Help,
		Example: `  krmfn eval --image set-labels my-package -- env=test
  krmfn eval --image set-namespace:v0.4 --match-kind Deployment --fn-config config.yaml
  krmfn eval --image set-labels:v0.2 --save --type mutator my-package -- env=test
  krmfn eval --image kubeconform - -o unwrap < resources.yaml`,
	}
	c := &command{p, addFlags(p, cmd.Flags())}
	if err := cmd.RegisterFlagCompletionFunc("image", completeImage); err != nil {
		panic(err) // only for a flag that does not exist
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		inputs, values := args, []string(nil)
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			inputs, values = args[:dash], args[dash:]
		}
		return c.run(cmd.Context(), inputs, values)
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

func (c *command) run(ctx context.Context, inputs, values []string) error {
	if err := c.validate(inputs, values); err != nil {
		return err
	}
	config, err := readConfig(c.fnConfig, values)
	if err != nil {
		return failure.Usage(err)
	}
	c.Warn(c.ineffective())
	if len(inputs) == 0 {
		inputs = []string{"."}
	}
	if inputs[0] != stdin && !isFile(inputs[0]) {
		return c.evalDir(ctx, inputs[0], config)
	}
	switch {
	case c.output.DryRun:
		return failure.Usage(errors.New("--dry-run is about changes in place: name a directory, or leave it out"))
	case c.save:
		return failure.Usage(errors.New("--save is about the Kptfile of a directory: name one, or leave it out"))
	}
	return c.evalList(ctx, inputs, config)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

func (c *command) evalDir(ctx context.Context, name string, config *functionConfig) (err error) {
	dir, err := output.OpenDir(c.Program, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	configFile, inside := config.inside(dir.Location())
	if c.save && config.file != "" && !inside {
		return failure.Usage(notUnder(dir.Location()))
	}
	d, err := directory.Read(dir)
	if err != nil {
		return err
	}
	var own []*yaml.RNode
	if inside {
		// The function must not change its own configuration.
		own = d.Without(configFile)
	}
	w := c.evaluate(ctx, config.node, d.Resources)
	if w.Err == nil {
		w.Tree, w.Resources = d.Tree, append(w.Resources, own...)
		w.Output, w.Err = d.Output(w.Resources)
	}
	out := output.Output{Flags: *c.output, Program: c.Program, Dir: dir}
	if err := out.Finish(ctx, w); err != nil || !c.save {
		return err
	}
	return c.saveFunction(dir, config)
}

// evaluate evaluates a function over resources within the time that it may take.
func (c *command) evaluate(ctx context.Context, config *yaml.RNode, resources []*yaml.RNode) (w output.Work) {
	ctx, cancel := c.runner.Limit(ctx)
	defer cancel()
	tags, done := c.runner.Tags()
	defer done()
	options := render.Options{ImagePrefix: c.runner.ImagePrefix, Tags: tags, Observe: c.Display()}
	if c.image == "" {
		evaluator, done := c.runner.CommandLines(c.Program)
		defer done()
		options.Exec = evaluator
	} else {
		evaluator, disconnect, err := runner.Connect(ctx, c.Program, c.runner)
		if err != nil {
			return output.Unreached(err)
		}
		defer disconnect()
		options.Evaluator = evaluator
	}
	var record renderstatus.Function
	w.Resources, record, w.Err = render.Function(ctx, c.function(), config, resources, options)
	w.Report = renderstatus.NewReport([]renderstatus.Function{record}, w.Err)
	return w
}
