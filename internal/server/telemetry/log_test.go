// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"
)

func TestLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := Logger(slog.New(slog.NewJSONHandler(&out, nil))).With("pod", "fn-1")
	log.InfoContext(t.Context(), "started")
	if strings.Contains(out.String(), "trace_id") {
		t.Errorf("line without a trace = %s, want no trace_id", &out)
	}
	out.Reset()
	called := metadata.NewIncomingContext(t.Context(), metadata.Pairs("traceparent", "00-02000000000000000000000000000000-0300000000000000-00"))
	log.InfoContext(called, "evaluated")
	if want := `"trace_id":"02000000000000000000000000000000"`; !strings.Contains(out.String(), want) {
		t.Errorf("line of a call in a caller's trace = %s, want %s", &out, want)
	}
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	log.InfoContext(trace.ContextWithSpanContext(called, span), "evaluated")
	if want := `"trace_id":"01000000000000000000000000000000"`; !strings.Contains(out.String(), want) {
		t.Errorf("line of a call with a span = %s, want %s", &out, want)
	}
}
