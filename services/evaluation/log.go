// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"context"
	"log/slog"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// WithLog returns an evaluator that logs one line for each evaluation: image, evaluator, outcome and durations, but no content. The
// attribute code is the same as in metrics; see Code. Lines of successful evaluations have the level succeeded: a server behind another
// one that writes the same line uses a lower level. Failures of functions have level info, because they are not problems of the server.
func WithLog(e Evaluator, log *slog.Logger, succeeded slog.Level) Evaluator {
	return Func(func(ctx context.Context, req Request) (Response, error) {
		resp, err := e.Evaluate(ctx, req)
		code := Code(resp, err)
		level := levelOf(code, err, succeeded)
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

func levelOf(code string, err error, succeeded slog.Level) slog.Level {
	switch {
	case err != nil:
		return slog.LevelWarn
	case code == CodeOK:
		return succeeded
	}
	return slog.LevelInfo
}

func implementationKey(r *evaluationv1.Evaluation) string {
	if r.GetEvaluator() == evaluationv1.Evaluator_EVALUATOR_POD {
		return "pod"
	}
	return "implementation"
}
