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

If the input is a directory, by default the current one, the function gets all resources
in it, including Kptfiles and packages below, and the files are changed in place. If the
input is standard input (a ResourceList or YAML documents) or files, the output is a
ResourceList on standard output.

Arguments after -- become the data of a ConfigMap for the function, or of another KIND if
you write it before them.

` + failure.Help,
		Example: `  krmfn eval --image set-labels my-package -- env=test
  krmfn eval --image set-namespace:v0.4 --match-kind Deployment --fn-config config.yaml
  krmfn eval --image set-labels:v0.2 --save --type mutator my-package -- env=test
  krmfn eval --image kubeconform - -o unwrap < resources.yaml`,
	}
	c := &command{p, addFlags(p, cmd.Flags())}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		inputs, values := args, []string(nil)
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			inputs, values = args[:dash], args[dash:]
		}
		return c.run(cmd.Context(), inputs, values)
	}
	return cmd
}

func (c *command) run(ctx context.Context, inputs, values []string) error {
	if err := c.validate(inputs, values); err != nil {
		return err
	}
	config, err := readConfig(c.fnConfig, values)
	if err != nil {
		return failure.Usage(err)
	}
	if len(inputs) == 0 {
		inputs = []string{"."}
	}
	if inputs[0] != stdin && !isFile(inputs[0]) {
		return c.evalDir(ctx, inputs[0], config)
	}
	switch {
	case c.output.DryRun:
		return failure.Usage(errors.New("--dry-run works only with changes in place: name a directory, or leave out --dry-run"))
	case c.save:
		return failure.Usage(errors.New("--save changes the Kptfile of a directory: name a directory, or leave out --save"))
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
	if err := c.output.Lock(dir, false); err != nil {
		return err
	}
	c.runner.Package = dir.Location()
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
	w := c.evaluate(ctx, config.node, d.Resources, c.output.Deletes())
	if w.Err == nil {
		w.Tree, w.Resources = d.Tree, append(w.Resources, own...)
		w.Output, w.Err = d.Output(w.Resources)
	}
	out := output.Output{Flags: *c.output, Program: c.Program, Dir: dir, Named: name}
	if err := out.Finish(ctx, w); err != nil || !c.save {
		return err
	}
	return c.saveFunction(dir, config)
}

// evaluate evaluates a function over resources within the time that it may take. deletion says that the output may be empty,
// whatever it looks like.
func (c *command) evaluate(ctx context.Context, config *yaml.RNode, resources []*yaml.RNode, deletion bool) (w output.Work) {
	ctx, cancel := c.runner.Limit(ctx)
	defer cancel()
	tags, done := c.runner.Tags()
	defer done()
	c.ResultsFile = c.output.ResultsFile()
	options := render.Options{ImagePrefix: c.runner.ImagePrefix, Tags: tags, AllowDeletion: deletion, Observe: c.Display()}
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
