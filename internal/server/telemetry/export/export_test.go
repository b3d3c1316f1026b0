// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/worker"
	"github.com/krmfn/krmfn/internal/server/telemetry"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// With the environment variables in Porch's manifests, the program serves its metrics on the Prometheus port.
//
//nolint:paralleltest // sets environment variables
func TestPrometheus(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_TRACES_EXPORTER": "none",
		"OTEL_EXPORTER_PROMETHEUS_HOST": "127.0.0.1", "OTEL_EXPORTER_PROMETHEUS_PORT": port,
	} {
		t.Setenv(key, value)
	}
	tel, err := New(t.Context(), "test", "v0", nil, GRPC{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := telemetry.WithMetrics(evaluation.Func(func(_ context.Context, req evaluation.Request) (evaluation.Response, error) {
		if req.Image == "unknown" {
			return evaluation.Response{}, &evaluation.NotFoundError{Image: req.Image}
		}
		return evaluation.Response{Report: &evaluationv1.Evaluation{Image: "r.io/fn:v1", Timings: &evaluationv1.Timings{}}}, nil
	}), tel.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range []string{"r.io/fn:v1", "unknown"} {
		_, _ = e.Evaluate(t.Context(), evaluation.Request{Image: image})
	}
	budget := middleware.NewBudget(100, 1)
	if _, err := budget.Reserve(t.Context(), 40); err != nil {
		t.Fatal(err)
	}
	if err := telemetry.ObserveBudgets(tel.Metrics, map[string]*middleware.Budget{"requests": budget}); err != nil {
		t.Fatal(err)
	}
	if err := telemetry.ObserveWorkers(tel.Metrics, func() worker.Stats { return worker.Stats{Workers: 1, Started: 2, Calls: 3, Refused: 4} }, 5); err != nil {
		t.Fatal(err)
	}
	if err := telemetry.ObserveStandby(tel.Metrics, standby{}); err != nil {
		t.Fatal(err)
	}
	gate := middleware.NewGate(6, 7)
	leave, _, err := gate.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if err := telemetry.ObserveGates(tel.Metrics, map[string]*middleware.Gate{"executables": gate}); err != nil {
		t.Fatal(err)
	}
	tel.Reloads.Record("good", false, nil)
	tel.Reloads.Record("bad", true, nil)
	tel.Reloads.Record("bad", false, errors.New("it is broken"))
	if !tel.Active {
		t.Error("Active = false, want true")
	}
	text := get(t, "http://127.0.0.1:"+port+"/metrics")
	for _, want := range []string{
		`krm_build_info{component="test",goversion="go`, `version="v0"} 1`,
		`krm_function_requests_total{code="ok",image="r.io/fn"} 1`,
		`krm_function_requests_total{code="not_found",image="unknown"} 1`,
		`krm_function_duration_seconds_count{image="r.io/fn",phase="execute"} 1`, "krm_function_running 0", "go_memory_used",
		`krm_memory_budget_bytes{budget="requests"} 100`, `krm_memory_reserved_bytes{budget="requests"} 40`, `krm_memory_waiting_bytes{budget="requests"} 0`,
		`krm_standby_processes_total{fate="used"} 5`, `krm_standby_processes_total{fate="refused"} 0`,
		"krm_standby_processes_waiting 1", "krm_standby_processes_waiting_max 8", "krm_workers_max 5",
		`krm_calls_running{kind="executables"} 1`, `krm_calls_running_max{kind="executables"} 6`, `krm_calls_waiting{kind="executables"} 0`,
		`krm_calls_waiting_max{kind="executables"} 7`,
		`krm_config_reloads_total{config="good",result="success"} 1`, `krm_config_last_reload_successful{config="bad"} 0`,
		`krm_config_last_reload_success_timestamp_seconds{config="bad"} `,
		"krm_workers 1", "krm_workers_started_total 2", "krm_worker_calls_total 3", "krm_workers_refused_total 4",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics lack %s:\n%s", want, text)
		}
	}
	// The instrumentation scope would add three labels to each series.
	if strings.Contains(text, "otel_scope") {
		t.Errorf("series have labels of the instrumentation scope:\n%s", text)
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// standby implements telemetry.Standby.
type standby struct{}

func (standby) StandbyOutcomes() map[process.StandbyOutcome]int64 {
	return map[process.StandbyOutcome]int64{process.StandbyUsed: 5}
}

func (standby) Standby() (processes, most int) { return 1, 8 }

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // the test reads the whole body
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestNothingIsExportedByDefault(t *testing.T) {
	t.Setenv("OTEL_METRICS_EXPORTER", "")
	t.Setenv("OTEL_TRACES_EXPORTER", "")
	tel, err := New(t.Context(), "test", "v0", nil, GRPC{})
	if err != nil {
		t.Fatal(err)
	}
	_, span := tel.Traces.Tracer("test").Start(t.Context(), "span")
	if span.IsRecording() || tel.Active {
		t.Errorf("span.IsRecording() = %v, Active = %v, want false", span.IsRecording(), tel.Active)
	}
	span.End()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestUnknownExporter(t *testing.T) {
	t.Setenv("OTEL_METRICS_EXPORTER", "carrier-pigeon")
	if _, err := New(t.Context(), "test", "v0", nil, GRPC{}); err == nil || !strings.Contains(err.Error(), "carrier-pigeon") {
		t.Errorf("New() = %v, want an error with the exporter's name", err)
	}
}
