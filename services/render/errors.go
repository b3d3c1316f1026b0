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

// The levels of a render in its errors.
const (
	opRender        = "fn.render"
	opRead          = "pkg.read"
	opReadResources = "pkg.readResources"
	opSubpackages   = "pkg.Subpackages"
	opPackage       = "pkg.render"
	opPipeline      = "pipeline.run"
)

// Error says where in a render something went wrong. Its text has one line for each level, as kpt writes it.
type Error struct {
	// Op is the level.
	Op string
	// Package is the location of the package.
	Package string
	// Err is the level below, or the cause.
	Err error
}

func (e *Error) Error() string {
	return e.text("", "", wording{
		location: func(location string) string { return location },
		cause:    error.Error,
	})
}

// wording is how what is in an error is told.
type wording struct {
	location func(string) string
	cause    func(error) string
}

// text leaves out what is the same in the level above.
func (e *Error) text(op, location string, w wording) string {
	var parts []string
	if e.Op != op {
		parts = append(parts, e.Op)
	}
	if e.Package != location {
		parts = append(parts, "pkg "+w.location(e.Package))
	}
	separator, rest := ": ", ""
	if below, deeper := e.Err.(*Error); deeper { //nolint:errorlint // It is the next level that matters, not any.
		separator, rest = ":\n\t", below.text(e.Op, e.Package, w)
	} else {
		rest = w.cause(e.Err)
	}
	if len(parts) == 0 {
		return rest
	}
	return strings.Join(parts, ": ") + separator + rest
}

// Unwrap returns the level below, or the cause.
func (e *Error) Unwrap() error { return e.Err }

// Cause returns what went wrong, without where.
func Cause(err error) error {
	var level *Error
	for errors.As(err, &level) {
		err = level.Err
	}
	return err
}

// FunctionError says that a function failed.
type FunctionError struct {
	// Function is the image, or the command line.
	Function string
	// Report is the evaluation's report, with its failure set.
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

// OutputError says that a function ran well and that its output cannot be used.
type OutputError struct {
	// Function is the image, or the command line.
	Function string
	// Err is what is wrong with the output.
	Err error
}

func (e *OutputError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the output.
func (e *OutputError) Unwrap() error { return e.Err }

// DeletionError says that a function's output would delete all that the function got, or the Kptfile, without plainly meaning to; see
// Options.AllowDeletion.
type DeletionError struct{ text string }

func (e *DeletionError) Error() string { return e.text }

// SaveError says that what functions have made of the resources cannot be files.
type SaveError struct {
	// Err is why. Render is the error that ended the render; nil where it had succeeded.
	Err, Render error
}

func (e *SaveError) Error() string {
	if e.Render == nil {
		return fmt.Sprintf("failed to save resources: %v", e.Err)
	}
	return fmt.Sprintf("failed to save resources: %v (original render error: %v)", e.Err, e.Render)
}

// Unwrap returns the errors that there are.
func (e *SaveError) Unwrap() []error {
	if e.Render == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Render}
}
