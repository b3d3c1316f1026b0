// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/kptfile"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/runtime"
)

// explain words a command's error in one line: what failed, and what to do.
func (c *command) explain(code int, err error) string {
	if code == ExitInterrupted {
		return "interrupted: nothing was written"
	}
	if text, ok := kptfile.Explain(err); ok {
		return oneLine(strings.TrimPrefix(text, "Error: "))
	}
	cause := render.Cause(err)
	var failed *render.FunctionError
	var unusable *render.OutputError
	var late *timeoutError
	switch {
	case errors.As(cause, &failed):
		return oneLine(fmt.Sprintf("function %q failed: %s: nothing was written, see above for what it says", failed.Function, failed.Report.GetFailure().GetMessage()))
	case errors.As(cause, &unusable):
		return oneLine(fmt.Sprintf("the output of function %q cannot be used: %v", unusable.Function, unusable.Err))
	case errors.As(cause, &late):
		return oneLine(late.Error() + ": nothing was written")
	case cause.Error() == notFound(cause):
		return oneLine(cause.Error() + ": see `krmfn functions` for what there is, or name a function runner that has it with --runner")
	}
	return oneLine(cause.Error())
}

// notFound returns the text of the error that no evaluator knows a function; "" when err is another.
func notFound(err error) string {
	var missing *evaluation.NotFoundError
	if !errors.As(err, &missing) {
		return ""
	}
	return missing.Error()
}

// oneLine makes text of several lines one. A line is set apart from the next where it has no mark at its end that does.
func oneLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case b.Len() == 0:
		case strings.HasSuffix(b.String(), ":"), strings.HasSuffix(b.String(), "."):
			b.WriteString(" ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(line)
	}
	return terminal.Safe(b.String())
}

// isRunnerTrouble tells whether an error is the function runner's doing rather than a function's.
func isRunnerTrouble(err error) bool {
	if errors.As(err, new(*runnerError)) || errors.As(err, new(*runtime.SizeError)) {
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
