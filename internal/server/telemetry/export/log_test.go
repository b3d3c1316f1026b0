// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/krmfn/krmfn/internal/server/logging"
)

// Invalid settings are logged without their values, and failed exports once a minute. Other records of OpenTelemetry are not logged.
func TestErrorsAreLogged(t *testing.T) {
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	const debug = 4
	slog.SetDefault(logging.New(&log, logging.JSON, debug))
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "secret")
	tel, err := New(t.Context(), "test", "v0", nil, GRPC{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		otel.Handle(errors.New("the collector is down"))
	}
	text := log.String()
	for part, want := range map[string]int{`"msg":"OpenTelemetry: parse headers"`: 1, "secret": 0, "created": 0, "the collector is down": 1} {
		if got := strings.Count(text, part); got != want {
			t.Errorf("the log contains %q %d times, want %d:\n%s", part, got, want, text)
		}
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
