// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/reference"
)

// boundaries are the bucket boundaries of the duration histogram in seconds, from a fast executable to the longest evaluation.
var boundaries = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// knownImages is the size of the cache of images and the repositories that they resolve to.
const knownImages = 1000

// WithMetrics returns an evaluator that measures the evaluations of e:
//
//   - krm_function_requests (image, code): finished evaluations; see middleware.Code
//   - krm_function_duration (image, phase): seconds in the phases queue, start, execute and total; only total for cached results
//   - krm_function_running: evaluations in flight
//
// The label image is the repository without tag and digest. It is unknown for images that no evaluator knows, for rejected images, and
// for images whose first call ends before they are resolved. Otherwise clients could create any number of series.
func WithMetrics(e evaluation.Evaluator, provider metric.MeterProvider) (evaluation.Evaluator, error) {
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/telemetry")
	requests, err1 := meter.Int64Counter("krm_function_requests", metric.WithDescription("Finished evaluations."))
	durations, err2 := meter.Float64Histogram("krm_function_duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of evaluations by phase."), metric.WithExplicitBucketBoundaries(boundaries...))
	running, err3 := meter.Int64UpDownCounter("krm_function_running", metric.WithDescription("Evaluations in flight."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	repositories, err := lru.New[string, string](knownImages)
	if err != nil {
		return nil, err
	}
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		begin := time.Now()
		running.Add(ctx, 1)
		defer running.Add(ctx, -1)
		resp, err := e.Evaluate(ctx, req)
		name := attribute.String("image", repository(repositories, req.Image, resp, err))
		requests.Add(ctx, 1, metric.WithAttributes(name, attribute.String("code", middleware.Code(resp, err))))
		record := func(phase string, d time.Duration) {
			durations.Record(ctx, d.Seconds(), metric.WithAttributes(name, attribute.String("phase", phase)))
		}
		record("total", time.Since(begin))
		if timings := resp.Report.GetTimings(); timings != nil && !resp.Report.GetCached() {
			record("queue", timings.GetQueue().AsDuration())
			record("start", timings.GetStart().AsDuration())
			record("execute", timings.GetExecute().AsDuration())
		}
		return resp, err
	}), nil
}

// repository returns the repository of an image according to a response, an error, or earlier responses in known. It returns "unknown"
// if none of them contains the resolved image.
func repository(known *lru.Cache[string, string], image string, resp evaluation.Response, err error) string {
	resolved := resp.Report.GetImage()
	var start *evaluation.StartError
	if errors.As(err, &start) && !start.Rejected {
		resolved = start.Image
	}
	if resolved != "" && (err == nil || start != nil) {
		name, _, _ := reference.Split(resolved)
		known.Add(image, name)
		return name
	}
	if name, ok := known.Get(image); ok && start == nil {
		return name
	}
	return "unknown"
}
