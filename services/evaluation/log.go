// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"context"
	"log/slog"
)

// WithLog writes one line for each evaluation: what was asked, by whom it was answered, how it went and how long it took,
// and nothing of the content. Failures of functions are not trouble of the server and are logged as what they are.
func WithLog(e Evaluator, log *slog.Logger) Evaluator {
	return Func(func(ctx context.Context, req Request) (Response, error) {
		resp, err := e.Evaluate(ctx, req)
		if !log.Enabled(ctx, slog.LevelInfo) && err == nil {
			return resp, err
		}
		level, attrs := slog.LevelInfo, []slog.Attr{slog.String("image", req.Image), slog.Int("input_bytes", len(req.ResourceList))}
		if err != nil {
			level, attrs = slog.LevelWarn, append(attrs, slog.String("err", err.Error()))
		}
		if r := resp.Report; r != nil {
			timings := r.GetTimings()
			attrs = append(attrs,
				slog.String("implementation", r.GetImplementation()),
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
			if f := r.GetFailure(); f != nil {
				attrs = append(attrs, slog.String("failure", f.GetReason().String()))
			}
		}
		log.LogAttrs(ctx, level, "evaluated", attrs...)
		return resp, err
	})
}
