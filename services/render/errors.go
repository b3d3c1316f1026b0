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
	opRender   = "fn.render"
	opRead     = "pkg.read"
	opPackage  = "pkg.render"
	opPipeline = "pipeline.run"
)

// Error says where in a render something went wrong. Its text has one line for each level, as kpt writes it.
type Error struct {
	// Op is the level.
	Op string
	// Package is the location of the package; empty where it is that of the level above.
	Package string
	// Err is the level below, or the cause.
	Err error
}

func (e *Error) Error() string {
	text := e.Op + ":"
	if e.Package != "" {
		text += " pkg " + e.Package + ":"
	}
	if _, deeper := e.Err.(*Error); deeper { //nolint:errorlint // It is the next level that matters, not any.
		return text + "\n\t" + e.Err.Error()
	}
	return text + " " + e.Err.Error()
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
