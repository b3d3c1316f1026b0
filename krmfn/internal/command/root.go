// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package command has the commands of krmfn.
package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/progress"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// Program is the process that a command runs in.
type Program struct {
	// Executable is the absolute path of a program that acts as the curated function by whose name it is started.
	Executable string
	// Args are the arguments behind the program's name.
	Args []string
	// Environ is the environment, "KEY=value" each.
	Environ []string
	// In, Out and Err are the standard streams.
	In       io.Reader
	Out, Err terminal.Stream
}

// command is a Program with the flags that all commands have.
type command struct {
	Program
	color          string
	quiet, verbose bool
	// truncate shows only the end of what functions write to their standard error, on a terminal.
	truncate bool
	// trace prints errors with every level of the render they come from.
	trace bool
	// started tells whether the command line was understood.
	started bool
}

// Run runs the command that the arguments name and returns the exit code. Errors go to Err, in kpt's words. The command
// ends soon after ctx does, with nothing written that was not written by then.
func (p Program) Run(ctx context.Context) int {
	c := &command{Program: p}
	root := c.root() //nolint:contextcheck // commands get the context when they are executed
	// Without any, cobra would look for those of the process.
	root.SetArgs(append([]string{}, p.Args...))
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !c.started {
		err = &usageError{fmt.Errorf("%w: see %s --help", err, cmd.CommandPath())}
	}
	code := exitCode(ctx, err)
	if err != nil {
		c.printError(code, err)
	}
	return code
}

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "krmfn",
		Short: "Evaluate KRM functions and render packages with them",
		Long: `krmfn evaluates KRM functions and renders kpt packages with them.

Functions are evaluated by a function runner. Without --runner an embedded one is
started, which has the curated functions and needs neither cluster nor containers:
they answer to the names of the KRM functions catalog, whatever the tag.

` + exitHelp,
		SilenceErrors: true,
		// Suggestions take several lines; an error has one.
		DisableSuggestions: true,
		SilenceUsage:       true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if err := c.colour(); err != nil {
				return err
			}
			c.started = true
			return nil
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&c.color, "color", terminal.Auto, "colours: auto, always or never; auto heeds NO_COLOR")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "show errors only")
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "show every result of every function, and a table of the functions")
	flags.BoolVar(&c.truncate, "truncate-output", true, "on a terminal, show only the last lines of a function's standard error")
	flags.BoolVar(&c.trace, "stack-trace", false, "show errors with every level of the render they come from; $"+stackTraceVariable+" does, too")
	root.AddCommand(c.render(), c.eval(), c.functions(), c.version())
	return root
}

func (c *command) colour() (err error) {
	if c.Out, err = c.Out.Coloured(c.color, c.getenv); err != nil {
		return err
	}
	c.Err, err = c.Err.Coloured(c.color, c.getenv)
	return err
}

// getenv returns the value of a variable; "" when it is not set. As in a process, the last of several counts.
func (c *command) getenv(key string) string {
	value := ""
	for _, kv := range c.Environ {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			value = v
		}
	}
	return value
}

func (c *command) display() progress.Display {
	return progress.New(c.Err, progress.Options{Quiet: c.quiet, Verbose: c.verbose, Truncate: c.truncate})
}

// note writes a line for people to the standard error, unless they asked for quiet.
func (c *command) note(format string, args ...any) {
	if !c.quiet {
		fmt.Fprintf(c.Err, format+"\n", args...)
	}
}

// warn writes a line about trouble that changes nothing about the outcome.
func (c *command) warn(err error) {
	if err != nil {
		c.note("%s %s", c.Err.Style.Yellow("[WARN]"), oneLine(err.Error()))
	}
}
