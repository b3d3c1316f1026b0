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

// boundaries of the duration histograms, in seconds: from a fast executable to the longest evaluation.
var boundaries = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// knownImages is how many images are remembered by the repository that they resolve to.
const knownImages = 1000

// WithMetrics counts evaluations and measures where their time goes:
//
//   - krm_function_requests (image, code): evaluations that ended; see middleware.Code
//   - krm_function_duration (image, phase), seconds: phases queue, start, execute, and total; only the last of answers that were kept
//   - krm_function_running: evaluations that have begun and not ended
//
// The image is the repository, without tag and digest. Images that no evaluator knows, that are rejected, or whose first call ends
// before they are looked up share the value unknown, because anybody can make them up.
func WithMetrics(e evaluation.Evaluator, provider metric.MeterProvider) (evaluation.Evaluator, error) {
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/telemetry")
	requests, err1 := meter.Int64Counter("krm_function_requests", metric.WithDescription("Evaluations that ended."))
	durations, err2 := meter.Float64Histogram("krm_function_duration", metric.WithUnit("s"),
		metric.WithDescription("Where the time of evaluations goes."), metric.WithExplicitBucketBoundaries(boundaries...))
	running, err3 := meter.Int64UpDownCounter("krm_function_running", metric.WithDescription("Evaluations that have begun and not ended."))
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

// repository returns the repository of an image that an evaluator knows, from its answer, its error, or earlier answers; or unknown.
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
