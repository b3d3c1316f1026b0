// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
	"github.com/krmfn/krmfn/pod-janitor/options"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func example() *Report {
	row := func(kind sweep.Kind, name, image string, reason sweep.Reason, detail string, action Action, problem string) Row {
		d := sweep.Decision{Kind: kind, Name: name, UID: "u", Image: image, Reason: reason, Detail: detail, Since: noon.Add(-time.Hour)}
		return Row{Decision: d, Action: action, Error: problem}
	}
	return &Report{
		Namespace: "fns", Seen: map[sweep.Kind]int{sweep.Pod: 9, sweep.Service: 2, sweep.Secret: 1}, Kept: 5,
		Begin: noon, took: 1500 * time.Millisecond,
		Rows: []Row{
			row(sweep.Pod, "a", "r.io/fn:v1", sweep.Expired, "may be idle for 40m0s", Deleted, ""),
			row(sweep.Pod, "b", "r.io/fn:v1", sweep.Failed, "", Used, ""),
			row(sweep.Pod, "c", "r.io/\x1b[31m\n", sweep.Expired, "", Gone, ""),
			row(sweep.Pod, "d", "", sweep.Expired, "", Failed, "forbidden"),
			row(sweep.Pod, "e", strings.Repeat("é", 100), sweep.Stuck, "", Left, ""),
			row(sweep.Pod, "f", "", sweep.Uncertain, "", Left, ""),
			row(sweep.Pod, "g", "", sweep.Failed, "", Deleted, ""),
			row(sweep.Service, "h", "", sweep.Orphaned, "has no pod", Deleted, ""),
			row(sweep.Secret, "i", "", sweep.Unused, "", Waiting, ""),
		},
	}
}

func write(t *testing.T, r *Report, output options.Output) (out, log string) {
	t.Helper()
	var w, l bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	if err := r.write(t.Context(), &w, output, logger); err != nil {
		t.Fatal(err)
	}
	return w.String(), l.String()
}

const (
	failure = `level=WARN msg=swept action=failed kind=Pod name=d image="" reason=expired detail="" idle_since=2026-05-04T11:00:00Z err=forbidden` + "\n"
	summary = `level=INFO msg="sweep done" namespace=fns dry_run=false pods=9 services=2 secrets=1 deleted=3 used_meanwhile=1 gone=1 failed=1 ` +
		"next_sweep=1 kept=5 uncertain=1 stuck=1 took=1.5s\n"
)

func TestTable(t *testing.T) {
	t.Parallel()
	out, log := write(t, example(), options.Table)
	want := []string{
		"KIND NAME IMAGE REASON IDLE SINCE ACTION",
		"Pod a r.io/fn:v1 expired: may be idle for 40m0s 2026-05-04T11:00:00Z deleted",
		"Pod b r.io/fn:v1 failed 2026-05-04T11:00:00Z used meanwhile",
		`Pod c "r.io/\x1b[31m\n" expired 2026-05-04T11:00:00Z gone`,
		"Pod d - expired 2026-05-04T11:00:00Z failed",
		"Pod e " + strings.Repeat("é", 60) + "... stuck 2026-05-04T11:00:00Z left",
		"Pod f - uncertain 2026-05-04T11:00:00Z left",
		"Pod g - failed 2026-05-04T11:00:00Z deleted",
		"Service h - orphaned: has no pod 2026-05-04T11:00:00Z deleted",
		"Secret i - unused 2026-05-04T11:00:00Z next sweep",
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(failure+summary, log); diff != "" {
		t.Error(diff)
	}
	if out, _ := write(t, &Report{}, options.Table); out != "nothing to delete\n" {
		t.Errorf("empty table = %q", out)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	out, log := write(t, example(), options.JSON)
	if strings.Count(out, "\n") != 1 || log != failure+summary {
		t.Errorf("report = %q, want one line; log:\n%s", out, log)
	}
	var got struct {
		Namespace, Begin string
		DryRun           bool
		Kept             int
		Seen             map[string]int
		Objects          []map[string]string
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Namespace != "fns" || got.Begin != "2026-05-04T12:00:00Z" || got.DryRun || got.Kept != 5 || got.Seen["Pod"] != 9 || len(got.Objects) != 9 {
		t.Errorf("%+v", got)
	}
	want := []map[string]string{
		{
			"kind": "Pod", "name": "a", "uid": "u", "image": "r.io/fn:v1", "reason": "expired", "detail": "may be idle for 40m0s",
			"idleSince": "2026-05-04T11:00:00Z", "action": "deleted",
		},
		{"kind": "Pod", "name": "d", "uid": "u", "reason": "expired", "idleSince": "2026-05-04T11:00:00Z", "action": "failed", "error": "forbidden"},
	}
	if diff := cmp.Diff(want, []map[string]string{got.Objects[0], got.Objects[3]}); diff != "" {
		t.Error(diff)
	}
	if out, _ := write(t, &Report{}, options.JSON); !strings.Contains(out, `"objects":[]`) {
		t.Errorf("report without objects = %s, want an empty list", out)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	r := example()
	r.DryRun = true
	r.Rows[0].Action = WouldDelete
	out, log := write(t, r, options.Log)
	lines := strings.Split(strings.TrimSpace(log), "\n")
	want := `level=INFO msg=swept action="would delete" kind=Pod name=a image=r.io/fn:v1 reason=expired detail="may be idle for 40m0s" idle_since=2026-05-04T11:00:00Z`
	if out != "" || len(lines) != len(r.Rows)+1 || lines[0] != want || !strings.Contains(lines[9], "dry_run=true") || !strings.Contains(lines[9], "would_delete=1") {
		t.Errorf("%s%s", out, log)
	}
	if !strings.HasPrefix(lines[4], "level=WARN") || strings.Count(log, "err=forbidden") != 1 {
		t.Errorf("log = %s, want a warning for the failure", log)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// If standard output fails, the log still has the summary.
func TestWriteError(t *testing.T) {
	t.Parallel()
	for _, output := range []options.Output{options.Table, options.JSON} {
		for _, r := range []*Report{example(), {}} {
			var log bytes.Buffer
			err := r.write(t.Context(), full{}, output, slog.New(slog.NewTextHandler(&log, nil)))
			if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(log.String(), "sweep done") {
				t.Errorf("%s: write() = %v, log:\n%s", output, err, log.String())
			}
		}
	}
}

func TestNote(t *testing.T) {
	t.Parallel()
	want := "deleted 2 Pods (expired 1, failed 1), 1 Service (orphaned 1) in namespace fns"
	if got := example().note(); got != want {
		t.Errorf("note() = %q, want %q", got, want)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	m, err := newMetrics(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	m.done(t.Context(), example())
	second := example()
	second.Kept = 3
	m.done(t.Context(), second)
	m.failed(t.Context())
	want := []string{
		"krm_janitor_deleted kind=Pod,reason=expired 2", "krm_janitor_deleted kind=Pod,reason=failed 2",
		"krm_janitor_deleted kind=Service,reason=orphaned 2", "krm_janitor_errors  3", "krm_janitor_kept  3",
	}
	if diff := cmp.Diff(want, collect(t, reader)); diff != "" {
		t.Error(diff)
	}
}

func collect(t *testing.T, reader sdkmetric.Reader) []string {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.WithoutCancel(t.Context()), &data); err != nil {
		t.Fatal(err)
	}
	var all []string
	encoder := attribute.DefaultEncoder()
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			var points []metricdata.DataPoint[int64]
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				points = d.DataPoints
			case metricdata.Gauge[int64]:
				points = d.DataPoints
			}
			for _, p := range points {
				all = append(all, fmt.Sprintf("%s %s %d", m.Name, p.Attributes.Encoded(encoder), p.Value))
			}
		}
	}
	slices.Sort(all)
	return all
}
