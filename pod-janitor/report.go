// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
)

// Action is the outcome for one object.
type Action string

// The actions.
const (
	Deleted Action = "deleted"
	// WouldDelete is the outcome in a dry run.
	WouldDelete Action = "would delete"
	// Used objects changed between the list and the deletion, usually because they were used. They were not deleted.
	Used Action = "used meanwhile"
	// Gone objects were deleted by someone else.
	Gone Action = "gone"
	// Failed deletions are retried by the next sweep.
	Failed Action = "failed"
	// Waiting objects are left to the next sweep, because of maxDeletions or --timeout.
	Waiting Action = "next sweep"
	// Left objects are only reported.
	Left Action = "left"
)

// Row is one object of a report.
type Row struct {
	sweep.Decision
	Action Action `json:"action"`
	// Error is the error of a failed deletion.
	Error string `json:"error,omitempty"`
}

// Report is the result of one sweep.
type Report struct {
	Namespace string `json:"namespace"`
	DryRun    bool   `json:"dryRun"`
	// Begin is the start time of the sweep, in UTC and whole seconds.
	Begin time.Time `json:"begin"`
	// Seen counts krmfn's objects by kind. Kept counts those that the sweep decided to keep.
	Seen map[sweep.Kind]int `json:"seen"`
	Kept int                `json:"kept"`
	Rows []Row              `json:"objects"`
	// took is the duration of the sweep. err is the error of the first failed deletion.
	took time.Duration
	err  error
}

// count returns the number of objects with an outcome.
func (r *Report) count(action Action) int {
	n := 0
	for _, row := range r.Rows {
		if row.Action == action {
			n++
		}
	}
	return n
}

// objects returns the number of krmfn's objects.
func (r *Report) objects() int {
	n := 0
	for _, seen := range r.Seen {
		n += seen
	}
	return n
}

// settled reports whether no object is left to delete.
func (r *Report) settled() bool {
	return r.count(Used)+r.count(Waiting)+r.count(Failed) == 0
}

// note summarises the deletions, such as "deleted 3 Pods (expired 2, failed 1), 1 Service (orphaned 1)".
func (r *Report) note() string {
	var kinds []string
	for _, kind := range []sweep.Kind{sweep.Pod, sweep.Service, sweep.Secret} {
		n, reasons := 0, map[sweep.Reason]int{}
		for _, row := range r.Rows {
			if row.Kind == kind && row.Action == Deleted {
				n++
				reasons[row.Reason]++
			}
		}
		if n == 0 {
			continue
		}
		plural := "s"
		if n == 1 {
			plural = ""
		}
		kinds = append(kinds, fmt.Sprintf("%d %s%s (%s)", n, kind, plural, counts(reasons)))
	}
	return fmt.Sprintf("deleted %s in namespace %s", strings.Join(kinds, ", "), r.Namespace)
}

// counts formats the number of objects by reason, such as "expired 2, failed 1".
func counts(reasons map[sweep.Reason]int) string {
	words := make([]string, 0, len(reasons))
	for reason, n := range reasons {
		words = append(words, fmt.Sprintf("%s %d", reason, n))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// Metrics are the instruments of sweeps:
//
//   - krm_janitor_deleted (kind, reason): deleted objects
//   - krm_janitor_kept: objects that the last sweep kept
//   - krm_janitor_errors: failed lists and deletions
type Metrics struct {
	deleted, errors metric.Int64Counter
	kept            metric.Int64Gauge
}

// newMetrics creates the instruments.
func newMetrics(provider metric.MeterProvider) (*Metrics, error) {
	meter := provider.Meter("github.com/krmfn/krmfn/pod-janitor")
	deleted, err1 := meter.Int64Counter("krm_janitor_deleted", metric.WithDescription("Deleted objects."))
	kept, err2 := meter.Int64Gauge("krm_janitor_kept", metric.WithDescription("Objects that the last sweep kept."))
	failed, err3 := meter.Int64Counter("krm_janitor_errors", metric.WithDescription("Failed lists and deletions."))
	return &Metrics{deleted: deleted, errors: failed, kept: kept}, errors.Join(err1, err2, err3)
}

// done records the result of a sweep.
func (m *Metrics) done(ctx context.Context, r *Report) {
	for _, row := range r.Rows {
		if row.Action == Deleted {
			m.deleted.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", string(row.Kind)), attribute.String("reason", string(row.Reason))))
		}
	}
	m.kept.Record(ctx, int64(r.Kept))
	m.errors.Add(ctx, int64(r.count(Failed)))
}

// failed records a failed list.
func (m *Metrics) failed(ctx context.Context) { m.errors.Add(ctx, 1) }
