// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package failure says how a command that failed ends: the exit code, and the error in kpt's words.
package failure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/services/evaluation/remote"
	"github.com/krmfn/krmfn/services/render/packages"
)

// The exit codes of krmfn.
const (
	// OK means success.
	OK = 0
	// Failed means that a function, or the render around it, failed, or that the command line is wrong, as in kpt. It is
	// never a function's own exit code.
	Failed = 1
	// RunnerFailed means that the function runner cannot be reached, or that it failed, not a function.
	RunnerFailed = 3
	// PartlyWritten means that some files are as before and some as rendered.
	PartlyWritten = 4
	// WouldChange means that a check has found files that a render would change. Nothing has been written.
	WouldChange = 5
	// Interrupted means that the command was interrupted. Nothing has been written.
	Interrupted = 130
)

// Help is the part of a command's help that lists the exit codes.
const Help = `Exit codes:
  0    success
  1    a function or the render failed, or the command line is wrong
  3    the function runner cannot be reached or used
  4    some files were written, others could not be; the error lists them
  5    with --check: a render would change files
  130  interrupted`

// codedError is an error whose exit code is known where it occurs.
type codedError struct {
	error
	code int
}

func (e *codedError) Unwrap() error { return e.error }

// Usage says that the command line is wrong. Nil remains nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &codedError{err, Failed}
}

// Change says what a check has found that a render would change.
func Change(err error) error { return &codedError{err, WouldChange} }

// Runner says that the function runner, not a function, failed.
func Runner(err error) error { return &codedError{err, RunnerFailed} }

// IsUsage reports whether the error is a usage error.
func IsUsage(err error) bool {
	coded, ok := errors.AsType[*codedError](err)
	return ok && coded.code == Failed
}

// WriteError reports that files could not be written.
type WriteError struct {
	Err error
	// Partly reports whether other files were written.
	Partly bool
}

// Write returns the error of packages.Dir.Apply as a WriteError.
func Write(err error) error {
	return &WriteError{Err: err, Partly: errors.As(err, new(*packages.PartialError))}
}

func (e *WriteError) Error() string {
	if e.Partly {
		return fmt.Sprintf("%v: other files were written, run the command again when the cause is gone", e.Err)
	}
	return fmt.Sprintf("%v: nothing was written, run the command again", e.Err)
}

func (e *WriteError) Unwrap() error { return e.Err }

// TimeoutError says that the command took longer than --timeout.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the time is up after %v: raise --timeout", e.Limit)
}

// HintError is an error that is printed with a second line, which says what to do.
type HintError struct {
	Err  error
	Hint string
}

func (e *HintError) Error() string { return e.Err.Error() }
func (e *HintError) Unwrap() error { return e.Err }

// Code returns the exit code for a command's error. ctx is the process's: it has ended when the command was interrupted.
func Code(ctx context.Context, err error) int {
	if err == nil {
		return OK
	}
	write, isWrite := errors.AsType[*WriteError](err)
	switch {
	case isWrite && write.Partly:
		return PartlyWritten
	case ctx.Err() != nil && !isWrite:
		return Interrupted
	}
	if coded, ok := errors.AsType[*codedError](err); ok {
		return coded.code
	}
	if isRunnerFailure(err) {
		return RunnerFailed
	}
	return Failed
}

// isRunnerFailure reports whether the function runner failed, as opposed to a function.
func isRunnerFailure(err error) bool {
	if errors.As(err, new(*remote.SizeError)) {
		return true
	}
	var answer interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.GRPCStatus().Code() {
	case codes.Unavailable, codes.Unimplemented, codes.ResourceExhausted, codes.Unauthenticated, codes.PermissionDenied,
		codes.Internal, codes.Unknown, codes.DataLoss, codes.InvalidArgument:
		return true
	default:
		return false
	}
}
