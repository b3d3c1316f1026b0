// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// LogOptions configures WithLog.
type LogOptions struct {
	// Succeeded is the level of successful evaluations. The default is Info. A server behind another one that writes the same line uses
	// a lower level.
	Succeeded slog.Level
	// FailureReasons adds the first line of the function's own error message, which may contain package content.
	FailureReasons bool
}

// WithLog returns an evaluator that logs one line for each evaluation: image, evaluator, outcome and durations. The line contains no
// package content unless FailureReasons is set. The attribute code is the same as in metrics; see Code. Failed evaluations have the
// level Warn.
func WithLog(e evaluation.Evaluator, log *slog.Logger, o LogOptions) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		resp, err := e.Evaluate(ctx, req)
		code := Code(resp, err)
		level := slog.LevelWarn
		if code == CodeOK {
			level = o.Succeeded
		}
		if !log.Enabled(ctx, level) {
			return resp, err
		}
		attrs := []slog.Attr{slog.String("image", req.Image), slog.String("code", code), slog.Int("input_bytes", len(req.ResourceList))}
		if err != nil {
			attrs = append(attrs, slog.String("err", err.Error()))
		}
		if r := resp.Report; r != nil {
			timings := r.GetTimings()
			attrs = append(attrs,
				slog.String(implementationKey(r), r.GetImplementation()),
				slog.Int("output_bytes", len(resp.ResourceList)),
				slog.Int("results", len(r.GetResults())),
				slog.Int("exit_code", int(r.GetExitCode())),
				slog.Duration("queue", timings.GetQueue().AsDuration()),
				slog.Duration("start", timings.GetStart().AsDuration()),
				slog.Duration("execute", timings.GetExecute().AsDuration()),
			)
			if code != CodeOK && o.FailureReasons {
				attrs = append(attrs, slog.String("reason", failureReason(r)))
			}
			if r.GetCached() {
				attrs = append(attrs, slog.Bool("cached", true))
			}
			if warning := r.GetWarning(); warning != "" {
				attrs = append(attrs, slog.String("warning", warning))
			}
		}
		log.LogAttrs(ctx, level, "evaluated", attrs...)
		return resp, err
	})
}

// maxReasonBytes is the maximum length of the attribute reason, in bytes.
const maxReasonBytes = 256

// failureReason returns the first line of the message of a failed function: its first result with severity error, its standard error,
// or else the failure's message.
func failureReason(r *evaluationv1.Evaluation) string {
	text := strings.TrimSpace(string(r.GetStderr()))
	if at := slices.IndexFunc(r.GetResults(), func(result *evaluationv1.Result) bool { return result.GetSeverity() == "error" }); at >= 0 {
		text = evaluation.ResultText(r.GetResults()[at])
	}
	line, _, _ := strings.Cut(cmp.Or(text, r.GetFailure().GetMessage()), "\n")
	return strings.ToValidUTF8(strings.TrimSpace(line[:min(len(line), maxReasonBytes)]), "")
}

func implementationKey(r *evaluationv1.Evaluation) string {
	if r.GetEvaluator() == evaluationv1.Evaluator_EVALUATOR_POD {
		return "pod"
	}
	return "implementation"
}
