// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// boundaries are the buckets of the duration histogram in seconds.
var boundaries = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 600}

// Observed measures and logs renders:
//
//   - krm_render_requests (code): renders that ended; the code is ok, failed, or the type of the error
//   - krm_render_duration (code): durations in seconds, including the time in the queue
//   - krm_render_running: renders that run or wait
//
// The log line of a failed render is a warning with the failed function and its exit code. With reasons, it also has the first line of the
// error, which may quote the package.
func Observed(r Renderer, provider metric.MeterProvider, log *slog.Logger, reasons bool) (Renderer, error) {
	meter := provider.Meter("github.com/krmfn/krmfn/task-handler")
	requests, err1 := meter.Int64Counter("krm_render_requests", metric.WithDescription("Renders that ended."))
	durations, err2 := meter.Float64Histogram("krm_render_duration", metric.WithUnit("s"),
		metric.WithDescription("Durations of renders."), metric.WithExplicitBucketBoundaries(boundaries...))
	running, err3 := meter.Int64UpDownCounter("krm_render_running", metric.WithDescription("Renders that run or wait."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("create the metrics: %w", err)
	}
	return func(ctx context.Context, req Request) (Result, error) {
		begin := time.Now()
		running.Add(ctx, 1)
		defer running.Add(ctx, -1)
		result, err := r(ctx, req)
		took, code := time.Since(begin), code(result, err)
		labels := metric.WithAttributes(attribute.String("code", code))
		requests.Add(ctx, 1, labels)
		durations.Record(ctx, took.Seconds(), labels)
		level := slog.LevelInfo
		attrs := []slog.Attr{slog.Int("files", len(req.Files)), slog.Duration("duration", took), slog.String("code", code)}
		if req.Operation != nil {
			attrs = append(attrs, slog.String("operation", req.Operation.Name))
		}
		if err != nil {
			level, attrs = slog.LevelWarn, append(attrs, slog.String("err", err.Error()))
		} else {
			attrs = append(attrs, slog.String("input_hash", result.InputHash), slog.Int("changes", len(result.Changes)),
				slog.Int("functions", len(result.Report.Functions)))
			if result.Report.Error != "" {
				level, attrs = slog.LevelWarn, append(attrs, failure(&result.Report, reasons)...)
			}
			if warnings := result.Report.Warnings(); len(warnings) > 0 {
				level, attrs = slog.LevelWarn, append(attrs, slog.Any("warnings", warnings))
			}
		}
		log.LogAttrs(ctx, level, "rendered", attrs...)
		return result, err
	}, nil
}

// failure returns the log attributes of a failed render.
func failure(report *renderstatus.Report, reasons bool) (attrs []slog.Attr) {
	for i := range report.Functions {
		if f := &report.Functions[i]; f.Error != "" {
			attrs = append(attrs, slog.String("image", f.Image), slog.Int("exit_code", f.ExitCode))
			break
		}
	}
	if reasons {
		line, _, _ := strings.Cut(report.Error, "\n")
		attrs = append(attrs, slog.String("reason", line))
	}
	return attrs
}

// code returns the outcome of a render: middleware.Code, or "invalid" and "failed" for errors of the package.
func code(result Result, err error) string {
	switch {
	case errors.As(err, new(*InputError)):
		return "invalid"
	case errors.As(err, new(*TimeoutError)):
		return "deadline"
	case err == nil && result.Report.Error != "":
		return "failed"
	}
	return middleware.Code(evaluation.Response{}, err)
}
