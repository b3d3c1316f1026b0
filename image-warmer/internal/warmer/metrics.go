// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package warmer

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
)

// Metrics measures runs:
//
//   - krm_warmer_runs (result: ok, failed): runs, including those for single nodes
//   - krm_warmer_pulls (result: pulled, present, skipped, failed): images on nodes
//   - krm_warmer_pull_duration: durations of successful pulls
//   - krm_warmer_images (state: resolved, kept, failed): images of the last run for all nodes
//   - krm_warmer_last_success_timestamp_seconds: Unix time of the last successful run for all nodes, or of the retry that completed it
type Metrics struct {
	runs, pulls metric.Int64Counter
	durations   metric.Float64Histogram
	images      metric.Int64Gauge
	success     metric.Int64Gauge
}

// NewMetrics returns Metrics.
func NewMetrics(provider metric.MeterProvider) (*Metrics, error) {
	meter := provider.Meter("github.com/krmfn/krmfn/image-warmer")
	runs, err1 := meter.Int64Counter("krm_warmer_runs", metric.WithDescription("Runs, by result."))
	pulls, err2 := meter.Int64Counter("krm_warmer_pulls", metric.WithDescription("Images on nodes, by result."))
	durations, err3 := meter.Float64Histogram("krm_warmer_pull_duration", metric.WithUnit("s"),
		metric.WithDescription("Durations of successful pulls."),
		metric.WithExplicitBucketBoundaries(0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600))
	images, err4 := meter.Int64Gauge("krm_warmer_images", metric.WithDescription("Images of the last run for all nodes, by the state of their metadata."))
	success, err5 := meter.Int64Gauge("krm_warmer_last_success_timestamp_seconds", metric.WithDescription("Unix time of the last successful run for all nodes, or of the retry that completed it."))
	return &Metrics{runs: runs, pulls: pulls, durations: durations, images: images, success: success}, errors.Join(err1, err2, err3, err4, err5)
}

// done records a run that has ended. whole reports that the run was for all nodes.
func (m *Metrics) done(ctx context.Context, r *report.Report, whole bool) {
	if m == nil || r.DryRun {
		return
	}
	ctx = context.WithoutCancel(ctx)
	result := "ok"
	if len(r.Failures) > 0 {
		result = "failed"
	}
	m.runs.Add(ctx, 1, metric.WithAttributes(attribute.String("result", result)))
	states := map[string]int64{report.Resolved: 0, report.Kept: 0, report.Failed: 0}
	for i := range r.Images {
		states[r.Images[i].Metadata]++
		for _, node := range r.Images[i].Nodes {
			m.pulls.Add(ctx, 1, metric.WithAttributes(attribute.String("result", node.Result)))
			if node.Result == report.Pulled {
				m.durations.Record(ctx, node.Seconds)
			}
		}
	}
	if !whole {
		return
	}
	for state, n := range states {
		m.images.Record(ctx, n, metric.WithAttributes(attribute.String("state", state)))
	}
	if len(r.Failures) == 0 {
		m.Succeeded(ctx)
	}
}

// Succeeded records that all nodes have all images.
func (m *Metrics) Succeeded(ctx context.Context) { m.success.Record(ctx, time.Now().Unix()) }
