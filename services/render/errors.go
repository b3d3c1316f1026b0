// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"strings"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Operations of a render, as kpt names them in errors.
const (
	opRender        = "fn.render"
	opRead          = "pkg.read"
	opReadResources = "pkg.readResources"
	opSubpackages   = "pkg.Subpackages"
	opPackage       = "pkg.render"
	opPipeline      = "pipeline.run"
)

// Error adds the operation and the package to an error. Its text has one line per level, as in kpt.
type Error struct {
	// Op is the operation.
	Op string
	// Package is the package's location.
	Package string
	// Err is the Error of the next level, or the cause.
	Err error
}

func (e *Error) Error() string {
	return e.text("", "", wording{
		location: func(location string) string { return location },
		cause:    error.Error,
	})
}

// wording formats the variable parts of an error text.
type wording struct {
	location func(string) string
	cause    func(error) string
}

// text formats an error. It omits an operation or location that equals the operation or location of the level above.
func (e *Error) text(op, location string, w wording) string {
	var parts []string
	if e.Op != op {
		parts = append(parts, e.Op)
	}
	if e.Package != location {
		parts = append(parts, "pkg "+w.location(e.Package))
	}
	separator, rest := ": ", ""
	if below, deeper := e.Err.(*Error); deeper { //nolint:errorlint // only the direct child counts
		separator, rest = ":\n\t", below.text(e.Op, e.Package, w)
	} else {
		rest = w.cause(e.Err)
	}
	if len(parts) == 0 {
		return rest
	}
	return strings.Join(parts, ": ") + separator + rest
}

// Unwrap returns the Error of the next level, or the cause.
func (e *Error) Unwrap() error { return e.Err }

// Cause returns the innermost error that is not an *Error.
func Cause(err error) error {
	var level *Error
	for errors.As(err, &level) {
		err = level.Err
	}
	return err
}

// FunctionError reports that a function failed.
type FunctionError struct {
	// Function is the image or the command line.
	Function string
	// Report is the evaluation's report. Its failure is set.
	Report *evaluationv1.Evaluation
}

func (e *FunctionError) Error() string {
	text := fmt.Sprintf("func eval %q failed: %s", e.Function, e.Report.GetFailure().GetMessage())
	if stderr := strings.TrimSpace(strings.ToValidUTF8(string(e.Report.GetStderr()), "\uFFFD")); stderr != "" {
		text += " (" + stderr + ")"
	}
	if results := e.Report.GetResults(); len(results) > 0 {
		text += " with structured results: " + evaluation.ResultsText(results)
	}
	return text
}

// OutputError reports that a function succeeded but its output cannot be used.
type OutputError struct {
	// Function is the image or the command line.
	Function string
	// Err is the reason why the output cannot be used.
	Err error
}

func (e *OutputError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *OutputError) Unwrap() error { return e.Err }

// DeletionError reports that a function's output would delete all of the function's input, or the Kptfile, probably by
// accident; see Options.AllowDeletion.
type DeletionError struct{ text string }

func (e *DeletionError) Error() string { return e.text }

// SaveError reports that the rendered resources cannot be written to files.
type SaveError struct {
	// Err is the reason. Render is the error that ended the render, or nil.
	Err, Render error
}

func (e *SaveError) Error() string {
	if e.Render == nil {
		return fmt.Sprintf("failed to save resources: %v", e.Err)
	}
	return fmt.Sprintf("failed to save resources: %v (original render error: %v)", e.Err, e.Render)
}

// Unwrap returns Err and, if there is one, Render.
func (e *SaveError) Unwrap() []error {
	if e.Render == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Render}
}
