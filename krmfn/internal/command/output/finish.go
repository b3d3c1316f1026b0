// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"context"
	"errors"
	"fmt"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Output is where the output of a render or an evaluation goes.
type Output struct {
	Flags
	// Program is what reports are written to.
	Program *program.Program
	// Dir is what was read; nil for files and the standard input.
	Dir *packages.Dir
	// Named is the directory as the user has named it, for names of files in it.
	Named string
}

// Finish ends a render or an evaluation: it writes the output and reports how it went. It returns the error that the command
// ends with.
func (o *Output) Finish(ctx context.Context, w Work) error {
	o.summary(w.Report.Functions)
	err := w.Err
	if err == nil {
		// From here on nothing is interrupted, so that files and results are written as a whole.
		err = context.Cause(ctx)
	}
	switch {
	case err == nil:
		err = o.write(w)
	case o.inPlace() && ctx.Err() == nil:
		err = o.writeFailure(w)
	default:
		w.Output = packages.Output{}
	}
	w.Report.Fail(err)
	o.executed(w, err)
	if resultsErr := o.writeResults(w.Report, w.packages() == 0); err == nil {
		err = resultsErr
	}
	if o.JSON() {
		if docErr := o.writeDocument(w, err); err == nil {
			err = docErr
		}
	}
	// Programs look for kpt's lines, which end before.
	o.problems(w)
	for _, warning := range w.Report.Warnings() {
		o.Program.Alert(warning)
	}
	for _, warning := range w.Report.Unmatched() {
		o.Program.Warn(errors.New(warning))
	}
	if err == nil {
		o.closing(w)
		err = o.checked(w)
	}
	if errors.As(err, new(*render.DeletionError)) {
		err = &failure.HintError{Err: err, Hint: "--allow-deletion permits it."}
	}
	return err
}

// summary writes the table of the functions, for people: programs look for kpt's lines, which it would come between.
func (o *Output) summary(functions []renderstatus.Function) {
	p := o.Program
	if !p.Quiet && len(functions) > 0 && (p.Err.IsTerminal() || p.Verbose) {
		p.Note("")
		report.Summary(p.Err, functions)
		p.Note("")
	}
}

func (o *Output) write(w Work) error {
	out := o.Program.Out
	switch {
	case o.JSON() && (o.DryRun || o.Check || o.Target == Stdout):
		return nil
	case o.DryRun:
		return report.WriteDiff(out, w.Output.Changes)
	case o.Check:
		return o.writeNames(w.Output.Changes)
	case o.Target == Stdout:
		return w.writeList(out)
	case o.Target == Unwrap:
		return packages.WriteDocuments(out, w.Resources)
	case o.Target != "":
		return writeFiles(o.Target, w.Output.Files)
	}
	if err := o.Dir.Apply(w.Output.Changes); err != nil {
		return failure.Write(fmt.Errorf("failed to save resources: %w", err))
	}
	return nil
}

// writeFailure writes what a failed render leaves: the status, and what the functions had made by then if the package asks
// for it. It returns the error that the command ends with.
func (o *Output) writeFailure(w Work) error {
	err := o.Dir.Apply(w.Output.Changes)
	switch {
	case err == nil:
		return w.Err
	case w.saves():
		return failure.Write(fmt.Errorf("failed to save resources: %w (original render error: %w)", err, w.Err))
	default:
		o.Program.Warn(fmt.Errorf("the status of the package was not written: %w", err))
		return w.Err
	}
}

// executed says how many functions have been executed, as kpt does where it has written what they made.
func (o *Output) executed(w Work, err error) {
	passed, all := w.passed(), w.packages()
	switch {
	case all == 0 || o.Target != "" || failure.IsWrite(err):
	case err == nil:
		o.Program.Note("Successfully executed %d function(s) in %d package(s).", passed, all)
	case !w.saves():
	case passed == 0:
		o.Program.Note("Failed to execute any functions in %d package(s).", all)
	default:
		o.Program.Note("Partially executed %d function(s) in %d package(s).", passed, all)
	}
}

// writeDocument writes the JSON document. Without a directory, the document contains the output itself.
func (o *Output) writeDocument(w Work, err error) error {
	var text string
	if o.Dir == nil {
		var listErr error
		if text, listErr = w.list(); err == nil {
			err = listErr
		}
		w.Output = packages.Output{}
	}
	doc := report.NewDocument(w.Report, w.Output.Changes, o.DryRun)
	doc.ResourceList = text
	doc.Written = o.Dir != nil && !o.DryRun && !o.Check && !failure.IsWrite(err) && (err == nil || len(w.Output.Changes) > 0)
	return report.WriteJSON(o.Program.Out, doc)
}

// closing says in the end what has become of the files. Programs look for kpt's lines, which end before.
func (o *Output) closing(w Work) {
	p, changes := o.Program, report.Changes(w.Output.Changes)
	switch {
	case o.Check && len(w.Output.Changes) > 0:
		// The error says it.
	case o.Check:
		p.Note("%s is up to date.", o.Named)
	case o.DryRun:
		p.Note("%s. Nothing was written, as this is a dry run.", changes)
	case !p.Err.IsTerminal() && !p.Verbose:
	case o.Target == "":
		p.Note("%s.", changes)
	case !o.ToStdout():
		p.Note("%d files written to %s.", len(w.Output.Files), o.Target)
	}
}
