// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

func TestLogContainsWarning(t *testing.T) {
	t.Parallel()
	for _, warning := range []string{"", "fn:v2 is evaluated by v1"} {
		var log bytes.Buffer
		e := WithLog(evaluation.Func(func(context.Context, evaluation.Request) (evaluation.Response, error) {
			return evaluation.Response{Report: &evaluationv1.Evaluation{Warning: warning}}, nil
		}), slog.New(slog.NewTextHandler(&log, nil)), LogOptions{})
		if _, err := e.Evaluate(t.Context(), evaluation.Request{Image: "fn:v2"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), ` warning="`+warning+`"`); got != (warning != "") {
			t.Errorf("warning %q: log = %s", warning, &log)
		}
	}
}

// The log line says whether the result was cached.
func TestLogOfCachedResult(t *testing.T) {
	t.Parallel()
	for _, cached := range []bool{false, true} {
		var log bytes.Buffer
		e := WithLog(evaluation.Func(func(context.Context, evaluation.Request) (evaluation.Response, error) {
			return evaluation.Response{Report: &evaluationv1.Evaluation{Cached: cached}}, nil
		}), slog.New(slog.NewTextHandler(&log, nil)), LogOptions{})
		if _, err := e.Evaluate(t.Context(), evaluation.Request{Image: "fn"}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), " cached=true"); got != cached {
			t.Errorf("cached = %v: log = %s", cached, &log)
		}
	}
}

// The line of a failed function contains its exit code. It contains its message only with FailureReasons, because the message may
// quote the package.
func TestLogOfFailureReason(t *testing.T) {
	t.Parallel()
	failure := func(message string) *evaluationv1.Failure {
		return &evaluationv1.Failure{Reason: evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, Message: message}
	}
	for name, tc := range map[string]struct {
		report *evaluationv1.Evaluation
		want   string
	}{
		"result with severity error": {&evaluationv1.Evaluation{Failure: failure("exit status 3"), Stderr: []byte("noise"), Results: []*evaluationv1.Result{
			{Message: "fine", Severity: "info"}, {Message: "secret: no label\nmore", Severity: "error"},
		}}, `reason="[error]: secret: no label"`},
		"standard error": {&evaluationv1.Evaluation{Failure: failure("exit status 3"), Stderr: []byte("\n\n  secret: no label \nmore")}, `reason="secret: no label"`},
		"no message":     {&evaluationv1.Evaluation{Failure: failure("exit status 3: secret")}, `reason="exit status 3: secret"`},
		"long message":   {&evaluationv1.Evaluation{Failure: failure("x"), Stderr: []byte("secret" + strings.Repeat("ä", 500))}, "reason=secret" + strings.Repeat("ä", 125) + "\n"},
	} {
		tc.report.ExitCode = 3
		for _, reasons := range []bool{false, true} {
			var log bytes.Buffer
			answer := evaluation.Func(func(context.Context, evaluation.Request) (evaluation.Response, error) {
				return evaluation.Response{Report: tc.report}, nil
			})
			if _, err := WithLog(answer, slog.New(slog.NewTextHandler(&log, nil)), LogOptions{FailureReasons: reasons}).Evaluate(t.Context(), evaluation.Request{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), " exit_code=3 ") {
				t.Errorf("%s: want exit_code=3 in the log: %s", name, &log)
			}
			if got := strings.Contains(log.String(), tc.want); got != reasons || !reasons && strings.Contains(log.String(), "secret") {
				t.Errorf("%s, FailureReasons=%v: want %s in the log only if true: %s", name, reasons, tc.want, &log)
			}
		}
	}
}

// The option Succeeded applies to successful evaluations only.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	failed := &evaluationv1.Evaluation{Failure: &evaluationv1.Failure{Reason: evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE}}
	for name, tc := range map[string]struct {
		report *evaluationv1.Evaluation
		err    error
		want   string
	}{
		"success": {new(evaluationv1.Evaluation), nil, "level=DEBUG msg=evaluated image=fn code=ok "},
		"failure": {failed, nil, "level=WARN msg=evaluated image=fn code=exit_code "},
		"error":   {nil, context.Canceled, "level=WARN msg=evaluated image=fn code=canceled "},
	} {
		var log bytes.Buffer
		answer := evaluation.Func(func(context.Context, evaluation.Request) (evaluation.Response, error) {
			return evaluation.Response{Report: tc.report}, tc.err
		})
		handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})
		if _, err := WithLog(answer, slog.New(handler), LogOptions{Succeeded: slog.LevelDebug}).Evaluate(t.Context(), evaluation.Request{Image: "fn"}); !errors.Is(err, tc.err) {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), tc.want) {
			t.Errorf("%s: want %q in the log: %s", name, tc.want, &log)
		}
	}
}
