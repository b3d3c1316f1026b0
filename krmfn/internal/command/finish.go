// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	"github.com/krmfn/krmfn/krmfn/internal/diff"
	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// finish ends a render: it writes what is to be written, and reports. It returns the error that the command ends with.
func (c *command) finish(ctx context.Context, dir *packages.Dir, w work, o *outputFlags) error {
	c.summary(w.Report.Functions)
	err := w.err
	if err == nil {
		// From here on nothing is interrupted, so that files and results are written as a whole.
		err = context.Cause(ctx)
	}
	switch {
	case err == nil:
		err = c.write(dir, w, o)
	case o.inPlace() && ctx.Err() == nil:
		err = c.writeFailure(dir, w)
	default:
		w.Output = packages.Output{}
	}
	c.executed(w, o, err)
	if !isSaveError(err) {
		if resultsErr := c.writeResults(o.resultsDir, w.Report, w.packages.count() == 0); err == nil {
			err = resultsErr
		}
	}
	if o.json() {
		if docErr := c.writeDocument(w, o, dir == nil, err); err == nil {
			err = docErr
		}
	}
	if err == nil {
		c.closing(w, o)
	}
	return err
}

// summary writes the table of the functions, for people: programs look for kpt's lines, which it would come between.
func (c *command) summary(functions []renderstatus.Function) {
	if !c.quiet && len(functions) > 0 && (c.Err.IsTerminal() || c.verbose) {
		c.note("")
		report.Summary(c.Err, functions)
		c.note("")
	}
}

// write writes the output of a render to where it goes.
func (c *command) write(dir *packages.Dir, w work, o *outputFlags) error {
	switch {
	case o.json() && (o.dryRun || dir == nil):
		return nil
	case o.dryRun:
		return diff.Write(c.Out, w.Output.Changes)
	case o.output == outputStdout:
		return w.Tree.WriteResourceList(c.Out, w.Resources)
	case o.output == outputUnwrap:
		return packages.WriteDocuments(c.Out, w.Resources)
	case o.output != "":
		return writeFiles(o.output, w.Output.Files)
	}
	if err := dir.Apply(w.Output.Changes); err != nil {
		return &writeError{fmt.Errorf("failed to save resources: %w", err)}
	}
	return nil
}

// writeFailure writes what a render leaves that failed: the status, and what the functions had made by then where the
// package asks for it. It returns the error that the command ends with.
func (c *command) writeFailure(dir *packages.Dir, w work) error {
	err := dir.Apply(w.Output.Changes)
	switch {
	case err == nil:
		return w.err
	case w.saves():
		return &writeError{fmt.Errorf("failed to save resources: %w (original render error: %w)", err, w.err)}
	default:
		c.warn(fmt.Errorf("the status of the package was not written: %w", err))
		return w.err
	}
}

// executed says how many functions have been executed, as kpt does where it has written what they made.
func (c *command) executed(w work, o *outputFlags, err error) {
	passed, all := w.passed(), w.packages.count()
	switch {
	case all == 0 || o.output != "" || isSaveError(err):
	case err == nil:
		c.note("Successfully executed %d function(s) in %d package(s).", passed, all)
	case !w.saves():
	case passed == 0:
		c.note("Failed to execute any functions in %d package(s).", all)
	default:
		c.note("Partially executed %d function(s) in %d package(s).", passed, all)
	}
}

// writeDocument writes the JSON document, which has the output of a list itself.
func (c *command) writeDocument(w work, o *outputFlags, list bool, err error) error {
	var text string
	if list {
		var listErr error
		if text, listErr = w.list(); err == nil {
			err = listErr
		}
		w.Output = packages.Output{}
	}
	doc := report.NewDocument(w.Report, w.Output.Changes, o.dryRun)
	doc.ResourceList = text
	doc.Written = !list && !o.dryRun && !isSaveError(err) && (err == nil || len(w.Output.Changes) > 0)
	if err != nil && doc.RenderStatus.Error == "" {
		doc.RenderStatus.Error = err.Error()
	}
	return report.WriteJSON(c.Out, doc)
}

// closing says in the end what has become of the files. Programs look for kpt's lines, which end before.
func (c *command) closing(w work, o *outputFlags) {
	changes := report.Changes(w.Output.Changes)
	switch {
	case o.dryRun:
		c.note("%s. Nothing was written, as this is a dry run.", changes)
	case !c.Err.IsTerminal() && !c.verbose:
	case o.output == "":
		c.note("%s.", changes)
	case !o.toStdout():
		c.note("%d files written to %s.", len(w.Output.Files), o.output)
	}
}

// writeError says that files could not be written. Others may have been.
type writeError struct{ err error }

func (e *writeError) Error() string {
	return fmt.Sprintf("%v: some files may have been written, run the command again when the cause is gone", e.err)
}

func (e *writeError) Unwrap() error { return e.err }
