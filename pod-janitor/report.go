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

// Action is what was done with an object.
type Action string

// The actions.
const (
	Deleted Action = "deleted"
	// WouldDelete is what a dry run does instead.
	WouldDelete Action = "would delete"
	// Used objects were used, or otherwise changed, between being listed and being deleted. They are left.
	Used Action = "used meanwhile"
	// Gone objects were deleted by somebody else meanwhile.
	Gone Action = "gone"
	// Failed deletions are tried again by the next sweep.
	Failed Action = "failed"
	// Waiting objects are left to the next sweep: there are too many, or time is over.
	Waiting Action = "next sweep"
	// Left objects are only told of.
	Left Action = "left"
)

// Row is one object of a report.
type Row struct {
	sweep.Decision
	Action Action `json:"action"`
	// Error is why a deletion failed.
	Error string `json:"error,omitempty"`
}

// Report is what one sweep has done.
type Report struct {
	Namespace string `json:"namespace"`
	DryRun    bool   `json:"dryRun"`
	// Begin is when the sweep began, in UTC and whole seconds.
	Begin time.Time `json:"begin"`
	// Seen is how many objects of ours there are of each kind, and Kept how many of them are not to be deleted.
	Seen map[sweep.Kind]int `json:"seen"`
	Kept int                `json:"kept"`
	Rows []Row              `json:"objects"`
	// took is how long the sweep took, and err why the first deletion failed that did.
	took time.Duration
	err  error
}

func (r *Report) count(action Action) int {
	n := 0
	for _, row := range r.Rows {
		if row.Action == action {
			n++
		}
	}
	return n
}

// objects returns how many objects of ours there were.
func (r *Report) objects() int {
	n := 0
	for _, seen := range r.Seen {
		n += seen
	}
	return n
}

// settled tells whether nothing is left that is to be deleted.
func (r *Report) settled() bool {
	return r.count(Used)+r.count(Waiting)+r.count(Failed) == 0
}

// note says in one sentence what was deleted, and why: "deleted 3 Pods (expired 2, failed 1), 1 Service (orphaned 1)".
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

func counts(reasons map[sweep.Reason]int) string {
	words := make([]string, 0, len(reasons))
	for reason, n := range reasons {
		words = append(words, fmt.Sprintf("%s %d", reason, n))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// Metrics counts what sweeps do:
//
//   - krm_janitor_deleted (kind, reason): objects deleted
//   - krm_janitor_kept: objects that the last sweep kept
//   - krm_janitor_errors: lists and deletions that failed
type Metrics struct {
	deleted, errors metric.Int64Counter
	kept            metric.Int64Gauge
}

// newMetrics returns Metrics.
func newMetrics(provider metric.MeterProvider) (*Metrics, error) {
	meter := provider.Meter("github.com/krmfn/krmfn/pod-janitor")
	deleted, err1 := meter.Int64Counter("krm_janitor_deleted", metric.WithDescription("Objects deleted."))
	kept, err2 := meter.Int64Gauge("krm_janitor_kept", metric.WithDescription("Objects that the last sweep kept."))
	failed, err3 := meter.Int64Counter("krm_janitor_errors", metric.WithDescription("Lists and deletions that failed."))
	return &Metrics{deleted: deleted, errors: failed, kept: kept}, errors.Join(err1, err2, err3)
}

func (m *Metrics) done(ctx context.Context, r *Report) {
	for _, row := range r.Rows {
		if row.Action == Deleted {
			m.deleted.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", string(row.Kind)), attribute.String("reason", string(row.Reason))))
		}
	}
	m.kept.Record(ctx, int64(r.Kept))
	m.errors.Add(ctx, int64(r.count(Failed)))
}

func (m *Metrics) failed(ctx context.Context) { m.errors.Add(ctx, 1) }
