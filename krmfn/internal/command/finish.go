// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	"github.com/krmfn/krmfn/krmfn/internal/diff"
	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/services/packages"
	"github.com/krmfn/krmfn/services/renderstatus"
)

// finish ends a render: it reports, and writes what is to be written. It returns the error that the command ends with.
func (c *command) finish(ctx context.Context, dir *packages.Dir, w work, o *outputFlags) error {
	c.summary(w.Report.Functions)
	err := w.err
	if err == nil {
		// From here on nothing is interrupted, so that files and results are written as a whole.
		err = context.Cause(ctx)
	}
	if err == nil {
		err = c.write(dir, w, o)
	}
	if resultsErr := c.writeResults(o.resultsDir, w.Report); err == nil {
		err = resultsErr
	}
	if o.json() {
		if docErr := c.writeDocument(w, o, err); err == nil {
			err = docErr
		}
	}
	if err == nil {
		c.closing(w, o)
	}
	return err
}

func (c *command) summary(functions []renderstatus.Function) {
	if !c.quiet && len(functions) > 0 {
		c.note("")
		report.Summary(c.Err, functions)
		c.note("")
	}
}

// write writes the output of a render to where it goes.
func (c *command) write(dir *packages.Dir, w work, o *outputFlags) error {
	switch {
	case o.dryRun && o.json():
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
		return &writeError{err}
	}
	return nil
}

func (c *command) writeDocument(w work, o *outputFlags, err error) error {
	doc := report.NewDocument(w.Report, w.Output.Changes, o.dryRun)
	doc.Written = err == nil && !o.dryRun
	if err != nil && doc.RenderStatus.Error == "" {
		doc.RenderStatus.Error = err.Error()
	}
	return report.WriteJSON(c.Out, doc)
}

// closing says in the end what has been done.
func (c *command) closing(w work, o *outputFlags) {
	if w.packages > 0 {
		c.note("Successfully executed %d function(s) in %d package(s).", len(w.Report.Functions), w.packages)
	}
	changes := report.Changes(w.Output.Changes)
	switch {
	case o.dryRun:
		c.note("%s. Nothing was written, as this is a dry run.", changes)
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
