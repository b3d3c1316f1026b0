// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/services/evaluation"
)

// boundaries of the duration histogram, in seconds: from a package of a few resources to the longest render.
var boundaries = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 600}

// WithMetrics counts renders and measures how long they take:
//
//   - krm_render_requests (code): renders that ended; code is ok, failed, or why there was no verdict
//   - krm_render_duration (code), seconds, waiting included
//   - krm_render_running: renders that have begun, or wait, and not ended
func WithMetrics(r Renderer, provider metric.MeterProvider) (Renderer, error) {
	meter := provider.Meter("github.com/krmfn/krmfn/task-handler")
	requests, err1 := meter.Int64Counter("krm_render_requests", metric.WithDescription("Renders that ended."))
	durations, err2 := meter.Float64Histogram("krm_render_duration", metric.WithUnit("s"),
		metric.WithDescription("How long renders take."), metric.WithExplicitBucketBoundaries(boundaries...))
	running, err3 := meter.Int64UpDownCounter("krm_render_running", metric.WithDescription("Renders that have begun and not ended."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	return func(ctx context.Context, req Request) (Result, error) {
		begin := time.Now()
		running.Add(ctx, 1)
		defer running.Add(ctx, -1)
		result, err := r(ctx, req)
		labels := metric.WithAttributes(attribute.String("code", code(result, err)))
		requests.Add(ctx, 1, labels)
		durations.Record(ctx, time.Since(begin).Seconds(), labels)
		return result, err
	}, nil
}

// code returns how a render ended, in the words of evaluation.Code; "invalid" and "failed" are about the package.
func code(result Result, err error) string {
	switch {
	case errors.As(err, new(*InputError)):
		return "invalid"
	case errors.As(err, new(*TimeoutError)):
		return "deadline"
	case err == nil && result.Report.Error != "":
		return "failed"
	}
	return evaluation.Code(evaluation.Response{}, err)
}

// WithLog writes one line for each render: how large the package was, how it went and how long it took, and nothing of the
// content, which the texts of errors may have. A package that does not render is not a warning.
func WithLog(r Renderer, log *slog.Logger) Renderer {
	return func(ctx context.Context, req Request) (Result, error) {
		begin := time.Now()
		result, err := r(ctx, req)
		level := slog.LevelInfo
		attrs := []slog.Attr{
			slog.Int("files", len(req.Files)), slog.Duration("duration", time.Since(begin)), slog.String("code", code(result, err)),
		}
		if err != nil {
			level, attrs = slog.LevelWarn, append(attrs, slog.String("err", err.Error()))
		} else {
			attrs = append(attrs, slog.String("input_hash", result.InputHash), slog.Int("changes", len(result.Changes)),
				slog.Int("functions", len(result.Report.Functions)))
		}
		log.LogAttrs(ctx, level, "rendered", attrs...)
		return result, err
	}
}
