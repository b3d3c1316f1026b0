// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/krmfn/krmfn/internal/server/logging"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

// collector is an OTLP collector. spans contains the received spans, and about the resource attributes.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
	about map[string]string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{about: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		data := new(tracepb.TracesData)
		if err == nil {
			err = proto.Unmarshal(body, data)
		}
		if err != nil || r.Method+r.URL.Path != "POST/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("X-Token") != "a b" {
			t.Errorf("request %s %s %v: %v", r.Method, r.URL, r.Header, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, rs := range data.GetResourceSpans() {
			for _, a := range rs.GetResource().GetAttributes() {
				c.about[a.GetKey()] = a.GetValue().GetStringValue()
			}
			for _, ss := range rs.GetScopeSpans() {
				c.about["scope"] = ss.GetScope().GetName()
				c.spans = append(c.spans, ss.GetSpans()...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// setenv sets environment variables until the test ends. Each argument is NAME=value.
func setenv(t *testing.T, environ ...string) {
	t.Helper()
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
}

func call(t *testing.T, h *harness, headers ...string) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), headers...)
	_, _ = evaluatorgrpc.NewFunctionEvaluatorClient(h.conn).EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: "img", ResourceList: []byte(list)})
}

// logged returns an attribute of the log lines about evaluations.
func logged(t *testing.T, log *bytes.Buffer, attribute string) []string {
	t.Helper()
	var values []string
	for line := range strings.Lines(log.String()) {
		entry := map[string]any{}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if entry["msg"] == "evaluated" {
			value, _ := entry[attribute].(string)
			values = append(values, value)
		}
	}
	return values
}

// The span of an evaluation is a child of the caller's span, and the log contains the trace ID.
//
//nolint:paralleltest // the environment belongs to the process
func TestSpans(t *testing.T) {
	c := newCollector(t)
	setenv(t, "OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-token=a%20b",
		"OTEL_RESOURCE_ATTRIBUTES=a=b", "HOSTNAME=pod-1")
	log := new(bytes.Buffer)
	h := run(t, nil, log, "cat; exit 3")
	call(t, h, "traceparent", traceparent, "tracestate", "k=v")
	call(t, h, "traceparent", strings.TrimSuffix(traceparent, "1")+"0")
	call(t, h)
	h.end(t)
	if len(c.spans) != 2 {
		t.Fatalf("%d spans, want 2, for the sampled call and the call without a trace: %v", len(c.spans), c.spans)
	}
	child, root := c.spans[0], c.spans[1]
	got := map[string]string{
		"trace": hex.EncodeToString(child.GetTraceId()), "parent": hex.EncodeToString(child.GetParentSpanId()), "state": child.GetTraceState(),
		"name": child.GetName(), "status": child.GetStatus().GetCode().String() + " " + child.GetStatus().GetMessage(),
	}
	for _, a := range child.GetAttributes() {
		got[a.GetKey()] = strings.TrimSpace(a.GetValue().GetStringValue())
		if a.GetKey() == "process.exit.code" && a.GetValue().GetIntValue() == 3 {
			got[a.GetKey()] = "3"
		}
	}
	want := map[string]string{
		"trace": traceID, "parent": "00f067aa0ba902b7", "state": "k=v", "name": "EvaluateFunction", "status": "STATUS_CODE_ERROR exit_code",
		"krm_function.image": "img", "krm_function.code": "exit_code", "process.exit.code": "3",
		"rpc.system.name": "grpc", "rpc.method": "evaluator.FunctionEvaluator/EvaluateFunction",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("span (-want +got):\n%s", diff)
	}
	if begin, end := child.GetStartTimeUnixNano(), child.GetEndTimeUnixNano(); begin == 0 || end <= begin || len(child.GetSpanId()) != 8 {
		t.Errorf("span %x: start %d, end %d", child.GetSpanId(), begin, end)
	}
	if len(root.GetParentSpanId()) != 0 || len(root.GetTraceId()) != 16 || bytes.Equal(root.GetTraceId(), child.GetTraceId()) {
		t.Errorf("span of the call without a trace = %v", root)
	}
	if diff := cmp.Diff([]string{traceID, traceID, hex.EncodeToString(root.GetTraceId())}, logged(t, log, "trace_id")); diff != "" {
		t.Errorf("trace_id in the log (-want +got):\n%s", diff)
	}
	want = map[string]string{"service.name": "krmfn-wrapper-server", "a": "b", "k8s.pod.name": "pod-1", "scope": scope}
	for name, want := range want {
		if got := c.about[name]; got != want {
			t.Errorf("resource attribute %s = %q, want %q", name, got, want)
		}
	}
}

// The log contains the caller's trace ID even if no spans are exported. Without a caller's trace, it contains none.
func TestTraceInLog(t *testing.T) {
	t.Parallel()
	log := new(bytes.Buffer)
	h := run(t, nil, log, "cat; exit 3")
	call(t, h, "traceparent", traceparent)
	call(t, h)
	call(t, h, "traceparent", "00-nonsense")
	h.end(t)
	if diff := cmp.Diff([]string{traceID, "", ""}, logged(t, log, "trace_id")); diff != "" {
		t.Errorf("trace_id in the log (-want +got):\n%s", diff)
	}
}

// Telemetry that cannot be exported does not make evaluations fail. One signal does not affect the other.
//
//nolint:paralleltest // the environment belongs to the process
func TestEvaluationsSucceedWithoutTelemetry(t *testing.T) {
	for name, tc := range map[string]struct {
		environ []string
		// want is part of the log.
		want string
	}{
		"no collector":     {[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}, "127.0.0.1:1"},
		"other protocol":   {[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL to http/protobuf"},
		"unknown exporter": {[]string{"OTEL_TRACES_EXPORTER=x"}, `OTEL_TRACES_EXPORTER=\"x\"`},
		"invalid port":     {[]string{"OTEL_METRICS_EXPORTER=prometheus", "OTEL_EXPORTER_PROMETHEUS_PORT=x"}, `OTEL_METRICS_EXPORTER=\"prometheus\"`},
		"metrics remain": {[]string{
			"OTEL_TRACES_EXPORTER=x", "OTEL_METRICS_EXPORTER=prometheus", "OTEL_EXPORTER_PROMETHEUS_HOST=" + metricsHost,
		}, `OTEL_TRACES_EXPORTER=\"x\"`},
	} {
		t.Run(name, func(t *testing.T) {
			setenv(t, tc.environ...)
			log := new(bytes.Buffer)
			defer slog.SetDefault(slog.Default())
			slog.SetDefault(logging.New(log, logging.JSON, 1))
			h := run(t, nil, log, "cat")
			_, err := evaluatorgrpc.NewFunctionEvaluatorClient(h.conn).EvaluateFunction(t.Context(), &evaluator.EvaluateFunctionRequest{ResourceList: []byte(list)})
			if err != nil {
				t.Errorf("EvaluateFunction() = %v", err)
			}
			if strings.Contains(name, "metrics") {
				const metric = `krm_function_pod_evaluations_total{code="ok"} 1`
				if text := scrape(t, "http://"+metricsHost+":9464/metrics", metric); !strings.Contains(text, metric) {
					t.Errorf("metrics do not contain %s:\n%s", metric, text)
				}
			}
			h.end(t)
			if !strings.Contains(log.String(), tc.want) {
				t.Errorf("log does not contain %s:\n%s", tc.want, log)
			}
		})
	}
}

func TestImageInSpanIsShortened(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{"": "", "r.io/fn:v1": "r.io/fn:v1", strings.Repeat("é", maxImageBytes): strings.Repeat("é", maxImageBytes/2), "x" + strings.Repeat("é", maxImageBytes): "x" + strings.Repeat("é", maxImageBytes/2-1)} {
		if got := shorten(image); got != want {
			t.Errorf("shorten(%q) = %q, want %q", image, got, want)
		}
	}
}

// metricsHost is a loopback address of its own, because metrics have the default port.
const metricsHost = "127.0.0.94"

// With the environment in Porch's manifests, metrics are at the address that Porch's end-to-end tests expect.
//
//nolint:paralleltest // the environment belongs to the process
func TestMetrics(t *testing.T) {
	setenv(t, "OTEL_METRICS_EXPORTER=prometheus", "OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_PROMETHEUS_HOST="+metricsHost)
	log := new(bytes.Buffer)
	h := run(t, nil, log, "cat; exit 1")
	call(t, h)
	unknown := h.conn.Invoke(t.Context(), "/made/Up", &evaluator.EvaluateFunctionRequest{}, &evaluator.EvaluateFunctionResponse{})
	text := scrape(t, "http://"+metricsHost+":9464/metrics", "rpc_server_call_duration_seconds_count")
	for _, want := range []string{
		"\ngo_goroutine_count ", "krm_build_info{", "krm_tls_connections_refused_total 0",
		`krm_function_pod_evaluations_total{code="exit_code"} 1`,
		"krm_function_pod_present 0", `krm_standby_processes_total{fate="used"} 1`, `krm_standby_processes_total{fate="refused"} 0`, "krm_workers 0", "krm_workers_started_total 0", "krm_workers_refused_total 0", "krm_worker_calls_total 0",
		`rpc_server_call_duration_seconds_count{error_type="INTERNAL",rpc_method="evaluator.FunctionEvaluator/EvaluateFunction",rpc_response_status_code="INTERNAL",rpc_system_name="grpc"} 1`,
		`rpc_server_call_duration_seconds_bucket{error_type="INTERNAL",rpc_method="evaluator.FunctionEvaluator/EvaluateFunction",rpc_response_status_code="INTERNAL",rpc_system_name="grpc",le="10"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics do not contain %s:\n%s", want, text)
		}
	}
	if unknown == nil || strings.Contains(text, "made/Up") {
		t.Errorf("call of an unknown method = %v, want an error and no time series", unknown)
	}
	h.end(t)
	// The evaluation that fails is the only warning.
	if diff := cmp.Diff([]string{"WARN"}, logged(t, log, "level")); diff != "" || strings.Count(log.String(), "WARN") != 1 {
		t.Errorf("level of the evaluation (-want +got):\n%s\nlogged:\n%s", diff, log)
	}
}

// scrape polls until a metric exists, because the server starts and finishes calls without waiting for metrics.
func scrape(t *testing.T, url, metric string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var text string
	for range 10000 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			text = err.Error()
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("status = %d, error %v", resp.StatusCode, err)
		}
		if text = string(body); strings.Contains(text, metric) {
			break
		}
	}
	return text
}
