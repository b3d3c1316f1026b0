// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/kptfile"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// explain words a command's error for people: in kpt's words, with the space that kpt has at the end of its own errors.
// It is "" where there is nothing to be said any more.
func (c *command) explain(code int, err error) string {
	if code == ExitInterrupted {
		return "error: interrupted: nothing was written"
	}
	if text, ok := kptfile.Explain(err); ok {
		return safe(text) + " "
	}
	text := cause(err)
	switch {
	case text == "":
		return ""
	case !errors.As(err, new(*render.Error)) || isSaveError(err):
		return "error: " + safe(text)
	case c.traces():
		return "Error: " + safe(err.Error())
	default:
		return "Error: " + safe(text) + " "
	}
}

// cause words what went wrong without where; "" for a function that has failed by itself, which has been shown.
func cause(err error) string {
	err = innermost(err)
	// What the functions have said is not all, then.
	if isSaveError(err) {
		return err.Error()
	}
	if failed, ok := errors.AsType[*render.FunctionError](err); ok {
		return failure(failed)
	}
	if late, ok := errors.AsType[*timeoutError](err); ok {
		return late.Error()
	}
	if err.Error() == notFound(err) {
		return err.Error() + ": see `krmfn functions` for what there is, or name a function runner that has it with --runner"
	}
	return err.Error()
}

// failure words what kept a function from running to its end; "" where it ran to its end and failed.
func failure(err *render.FunctionError) string {
	reported := err.Report.GetFailure()
	switch reported.GetReason() {
	case evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, evaluationv1.FailureReason_FAILURE_REASON_SIGNAL:
		return ""
	case evaluationv1.FailureReason_FAILURE_REASON_START:
		if err.Report.GetEvaluator() == evaluationv1.Evaluator_EVALUATOR_EXEC {
			return "unexpected function error: " + strings.TrimPrefix(reported.GetMessage(), fmt.Sprintf("start %q: ", err.Report.GetImplementation()))
		}
	}
	return fmt.Sprintf("function %q failed: %s", err.Function, reported.GetMessage())
}

// innermost returns what an error is below the levels of a render. An error of two, such as that of saving what an error
// left, stays whole.
func innermost(err error) error {
	level, ok := errors.AsType[*render.Error](err)
	for ok {
		err = level.Err
		level, ok = err.(*render.Error) //nolint:errorlint // It is the next level that matters, not any.
	}
	return err
}

// isSaveError tells whether it was not the functions that failed, but making files of what they made.
func isSaveError(err error) bool {
	return errors.As(err, new(*writeError)) || errors.As(err, new(*render.SaveError))
}

// notFound returns the text of the error that no evaluator knows a function; "" when err is another.
func notFound(err error) string {
	var missing *evaluation.NotFoundError
	if !errors.As(err, &missing) {
		return ""
	}
	return missing.Error()
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
