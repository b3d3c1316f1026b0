// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package command is krmfn's command line. Each command has a package below; program, runner, output and failure are what
// they share.
package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/command/eval"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/functions"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/render"
	"github.com/krmfn/krmfn/krmfn/internal/command/version"
)

// Run runs the command that the program's arguments name and returns the exit code. It writes errors to p.Err, in kpt's
// words. When ctx ends, the command ends soon after and writes no more files.
func Run(ctx context.Context, p program.Program) int {
	understood := false
	root := newRoot(&p, &understood) //nolint:contextcheck // commands get the context when they are executed
	// Without any, cobra would look for those of the process.
	root.SetArgs(append([]string{}, p.Args...))
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !understood {
		err = failure.Usage(fmt.Errorf("%w: see %s --help", err, cmd.CommandPath()))
	}
	code := failure.Code(ctx, err)
	if err != nil {
		failure.Print(p.Err, code, err, p.StackTrace())
	}
	return code
}

// newRoot returns the command with all others below. understood is set once the command line is.
func newRoot(p *program.Program, understood *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "krmfn",
		Short: "Evaluate KRM functions and render packages with them",
		Long: `krmfn evaluates KRM functions and renders kpt packages with them.

It has the curated functions, which answer to the names of the KRM functions catalog,
whatever the tag, and need neither cluster nor containers. They run in the command's
own process. With --isolate each runs in a process of its own, so that a function that
crashes, hangs or takes too much memory fails alone; with --runner a function runner
evaluates all functions, in executables or in pods.

` + failure.Help,
		SilenceErrors: true,
		// Suggestions take several lines; an error has one.
		DisableSuggestions: true,
		SilenceUsage:       true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if err := p.Colour(); err != nil {
				return err
			}
			*understood = true
			return nil
		},
	}
	p.AddFlags(root.PersistentFlags())
	root.AddCommand(render.Command(p), eval.Command(p), functions.Command(p), version.Command(p))
	return root
}
