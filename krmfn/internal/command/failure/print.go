// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// Print writes a command's error as kpt does, with trace with every level of the render it comes from. A function that
// failed by itself has already said why.
func Print(out terminal.Stream, code int, err error, trace bool) {
	text := explain(code, err, trace)
	if text == "" {
		return
	}
	title, rest, titled := strings.Cut(text, ":")
	if titled && strings.EqualFold(title, "error") {
		text = out.Style.Red(title+":") + rest
	}
	fmt.Fprintln(out, text)
	if hinted, ok := errors.AsType[*HintError](err); ok {
		fmt.Fprintln(out, hinted.Hint)
	}
}

// explain words a command's error in kpt's words, with the space that kpt has at the end of its own errors. It is "" if
// nothing is left to say.
func explain(code int, err error, trace bool) string {
	if code == Interrupted {
		return "error: interrupted: nothing was written"
	}
	if text, ok := kptfile.Explain(err); ok {
		return safe(text) + " "
	}
	text := cause(err)
	switch {
	case text == "":
		return ""
	case !errors.As(err, new(*render.Error)) || IsWrite(err):
		return "error: " + safe(text)
	case trace:
		return "Error: " + safe(err.Error())
	default:
		return "Error: " + safe(text) + " "
	}
}

// cause words what went wrong without where; "" for a function that failed by itself, which has been shown.
func cause(err error) string {
	err = innermost(err)
	// What the functions have said is not all, then.
	if IsWrite(err) {
		return err.Error()
	}
	if failed, ok := errors.AsType[*render.FunctionError](err); ok {
		return functionFailure(failed)
	}
	if late, ok := errors.AsType[*TimeoutError](err); ok {
		return late.Error()
	}
	if missing, ok := errors.AsType[*evaluation.NotFoundError](err); ok && (err.Error() == missing.Error() || strings.HasPrefix(err.Error(), missing.Error()+"; ")) {
		return err.Error() + ": " + adviseOnMissing(missing.Image)
	}
	return err.Error()
}

// functionFailure words what kept a function from running to its end; "" if it ran to its end and failed.
func functionFailure(err *render.FunctionError) string {
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

// IsWrite reports whether the functions' output could not be converted to files, or could not be written.
func IsWrite(err error) bool {
	return errors.As(err, new(*WriteError)) || errors.As(err, new(*render.SaveError))
}

// safe makes text of several lines harmless.
func safe(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = terminal.Safe(lines[i])
	}
	return strings.Join(lines, "\n")
}
