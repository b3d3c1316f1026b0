// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
)

// The exit codes of krmfn.
const (
	// ExitOK says that everything went well.
	ExitOK = 0
	// ExitFailed says that a function, or the render around it, failed, or that the command line is wrong, as in kpt. It is
	// never a function's own exit code.
	ExitFailed = 1
	// ExitRunner says that the function runner cannot be reached, or that it, not a function, is in trouble.
	ExitRunner = 3
	// ExitInterrupted says that the command was interrupted. Nothing has been written.
	ExitInterrupted = 130
)

const exitHelp = `Exit codes:
  0    success
  1    a function, or the render around it, failed, or the command line is wrong
  3    the function runner cannot be reached, or is in trouble
  130  interrupted`

// usageError says that the command line is wrong.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// runnerError says that the function runner is in trouble.
type runnerError struct{ err error }

func (e *runnerError) Error() string { return e.err.Error() }
func (e *runnerError) Unwrap() error { return e.err }

// exitCode returns the code for a command's error. ctx is the process's: it has ended when the command was interrupted.
func exitCode(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return ExitOK
	case ctx.Err() != nil && !errors.As(err, new(*writeError)):
		return ExitInterrupted
	case errors.As(err, new(*usageError)):
		return ExitFailed
	case isRunnerTrouble(err):
		return ExitRunner
	default:
		return ExitFailed
	}
}
