// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package program is the process that a command runs in: its streams, its environment, and the flags that all commands have.
package program

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/krmfn/internal/progress"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// stackTraceVariable is kpt's variable for --stack-trace.
const stackTraceVariable = "COBRA_STACK_TRACE_ON_ERRORS"

// Program is the process that a command runs in.
type Program struct {
	// Executable is the absolute path of a program that acts as the curated function by whose name it is started.
	Executable string
	// Args are the arguments after the program's name.
	Args []string
	// Environ is the environment, "KEY=value" each.
	Environ []string
	// In, Out and Err are the standard streams.
	In       io.Reader
	Out, Err terminal.Stream

	// Options say how much is written to Err. AddFlags adds flags for them and for the fields below.
	progress.Options
	trace      bool
	color      string
	kubeconfig string
}

// AddFlags adds the flags that all commands have.
func (p *Program) AddFlags(set *pflag.FlagSet) {
	set.StringVar(&p.color, "color", terminal.Auto, "when to use colors: auto, always or never; auto respects NO_COLOR")
	set.BoolVarP(&p.Quiet, "quiet", "q", false, "show only errors and warnings about function versions")
	set.BoolVarP(&p.Verbose, "verbose", "v", false, "show all results of all functions, and a table of the functions")
	set.BoolVar(&p.Truncate, "truncate-output", true, "on a terminal, show only the last lines of a function's standard error")
	p.addKptFlags(set)
	set.BoolVar(&p.trace, "stack-trace", false, "show every level of nested errors; $"+stackTraceVariable+" does the same")
}

// Colour gives the streams the colours that --color asks for.
func (p *Program) Colour() (err error) {
	if p.Out, err = p.Out.Coloured(p.color, p.Getenv); err != nil {
		return err
	}
	p.Err, err = p.Err.Coloured(p.color, p.Getenv)
	return err
}

// Getenv returns the value of an environment variable, "" if it is not set.
func (p *Program) Getenv(key string) string { return flags.Getenv(p.Environ, key) }

// Kubeconfig returns the paths of kubeconfig files, as $KUBECONFIG has them; --kubeconfig has precedence. "" means the default.
func (p *Program) Kubeconfig() string { return cmp.Or(p.kubeconfig, p.Getenv("KUBECONFIG")) }

// StackTrace reports whether errors are printed with all wrapped errors.
func (p *Program) StackTrace() bool {
	variable := p.Getenv(stackTraceVariable)
	return p.trace || variable == "true" || variable == "1"
}

// Display returns what shows the progress of a render.
func (p *Program) Display() progress.Display {
	return progress.New(p.Err, p.Options)
}

// Note writes a line for people to the standard error, unless they asked for quiet.
func (p *Program) Note(format string, args ...any) {
	if !p.Quiet {
		fmt.Fprintf(p.Err, format+"\n", args...)
	}
}

// WarnIgnored warns of arguments behind the one directory that a command takes; kpt ignores them without a word.
func (p *Program) WarnIgnored(args []string) {
	for _, arg := range args {
		p.Warn(fmt.Errorf("argument %q is ignored: name one directory", arg))
	}
}

// Warn writes a line about a problem that does not change the outcome, unless users asked for quiet; nil is none.
func (p *Program) Warn(err error) {
	if err != nil && !p.Quiet {
		p.Alert(err.Error())
	}
}

// Alert writes a line about what changes the outcome, however quiet users asked for it to be.
func (p *Program) Alert(text string) {
	fmt.Fprintf(p.Err, "%s %s\n", p.Err.Style.Yellow("[WARN]"), terminal.OneLine(text))
}
