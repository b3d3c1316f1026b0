// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/metadata"

	"github.com/krmfn/krmfn/internal/server/telemetry"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

// lockedWriter is safe for concurrent use.
type lockedWriter struct {
	mu sync.Mutex
	io.Writer
}

func (w *lockedWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Writer.Write(text)
}

// A function runner that exports no traces logs the trace IDs of its callers, whether or not it exports metrics.
func TestTracesOfCallersAreLogged(t *testing.T) {
	t.Parallel()
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	for name, exporters := range map[string]*telemetry.Telemetry{
		"nothing is set up": nil,
		"nothing is exported": {
			Metrics: metricnoop.NewMeterProvider(), Traces: tracenoop.NewTracerProvider(), Propagator: propagation.TraceContext{},
		},
		"metrics are exported": {
			Metrics: metricnoop.NewMeterProvider(), Traces: tracenoop.NewTracerProvider(), Propagator: propagation.TraceContext{}, Active: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			f := startWith(t, func(c *Config) {
				c.Telemetry, c.Log = exporters, slog.New(slog.NewJSONHandler(&lockedWriter{Writer: &log}, nil))
			})
			for _, flags := range []string{"00", "01"} {
				ctx := metadata.AppendToOutgoingContext(within(t, time.Minute), "traceparent", "00-"+traceID+"-00f067aa0ba902b7-"+flags)
				if _, err := f.porch.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: "r.io/echo:v1", ResourceList: []byte(list)}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := f.porch.EvaluateFunction(within(t, time.Minute), &evaluator.EvaluateFunctionRequest{Image: "r.io/lost:v1", ResourceList: []byte(list)}); err == nil {
				t.Error("EvaluateFunction() of an unknown function = nil error, want an error")
			}
			f.end(t)
			if diff := cmp.Diff([]string{traceID, traceID, ""}, tracesOf(t, &log, "evaluated")); diff != "" {
				t.Errorf("trace_id of the call log lines (-want +got):\n%s", diff)
			}
		})
	}
}

// tracesOf returns the trace_id of each log line with a message, or an empty string if the line has none.
func tracesOf(t *testing.T, log io.Reader, message string) []string {
	t.Helper()
	var all []string
	for decoder := json.NewDecoder(log); decoder.More(); {
		var line struct {
			Message string `json:"msg"`
			TraceID string `json:"trace_id"`
		}
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if line.Message == message {
			all = append(all, line.TraceID)
		}
	}
	return all
}
