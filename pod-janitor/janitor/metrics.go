// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package janitor

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Metrics counts what sweeps do:
//
//   - krm_janitor_deleted (kind, reason): objects deleted
//   - krm_janitor_kept: objects that the last sweep kept
//   - krm_janitor_errors: lists and deletions that failed
type Metrics struct {
	deleted, errors metric.Int64Counter
	kept            metric.Int64Gauge
}

// NewMetrics returns Metrics.
func NewMetrics(provider metric.MeterProvider) (*Metrics, error) {
	meter := provider.Meter("github.com/krmfn/krmfn/pod-janitor")
	deleted, err1 := meter.Int64Counter("krm_janitor_deleted", metric.WithDescription("Objects deleted."))
	kept, err2 := meter.Int64Gauge("krm_janitor_kept", metric.WithDescription("Objects that the last sweep kept."))
	failed, err3 := meter.Int64Counter("krm_janitor_errors", metric.WithDescription("Lists and deletions that failed."))
	return &Metrics{deleted: deleted, errors: failed, kept: kept}, errors.Join(err1, err2, err3)
}

// done counts what a sweep has done.
func (m *Metrics) done(ctx context.Context, r *Report) {
	for _, row := range r.Rows {
		if row.Action == Deleted {
			m.deleted.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", string(row.Kind)), attribute.String("reason", string(row.Reason))))
		}
	}
	m.kept.Record(ctx, int64(r.Kept))
	m.errors.Add(ctx, int64(r.count(Failed)))
}

// failed counts a sweep that could not list.
func (m *Metrics) failed(ctx context.Context) { m.errors.Add(ctx, 1) }
