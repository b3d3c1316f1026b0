// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package export_test

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/internal/server/telemetry/export"
	"github.com/krmfn/krmfn/internal/server/telemetry/export/otlpgrpc"
)

// The cases set environment variables, and therefore cannot run in parallel.
func TestExporters(t *testing.T) {
	for name, tc := range map[string]struct {
		exporter, protocol, metricsProtocol, disabled string
		grpc                                          export.GRPC
		active                                        bool
		// err is a part of the expected error; "" means no error.
		err string
	}{
		"default":                 {},
		"none":                    {exporter: "none"},
		"console":                 {exporter: "console", active: true},
		"OTLP":                    {exporter: "otlp", active: true},
		"OTLP over HTTP":          {exporter: "otlp", protocol: "http/protobuf", active: true},
		"OTLP over gRPC":          {exporter: "otlp", protocol: "grpc", grpc: otlpgrpc.Exporters, active: true},
		"one signal has an error": {exporter: "otlp", protocol: "http/json", metricsProtocol: "grpc", grpc: otlpgrpc.Exporters, active: true, err: "TRACES"},
		"disabled":                {exporter: "otlp", disabled: "TRUE"},
		"another protocol": {
			exporter: "otlp", protocol: "http/json", grpc: otlpgrpc.Exporters,
			err: `this program does not support OTLP protocol "http/json": set OTEL_EXPORTER_OTLP_METRICS_PROTOCOL to grpc or http/protobuf`,
		},
		"OTLP over gRPC in a program without gRPC": {
			exporter: "otlp", protocol: "grpc", err: `this program does not support OTLP protocol "grpc": set OTEL_EXPORTER_OTLP_METRICS_PROTOCOL to http/protobuf`,
		},
		"another exporter": {exporter: "zipkin", err: "zipkin"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range map[string]string{
				"OTEL_METRICS_EXPORTER": tc.exporter, "OTEL_TRACES_EXPORTER": tc.exporter, "OTEL_EXPORTER_OTLP_PROTOCOL": tc.protocol,
				"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": tc.metricsProtocol, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TIMEOUT": "100",
				"OTEL_SDK_DISABLED": tc.disabled,
			} {
				t.Setenv(key, value)
			}
			tel, err := export.New(t.Context(), "test", "v0", nil, tc.grpc)
			switch {
			case tc.err == "" && err != nil:
				t.Fatal(err)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
				t.Fatalf("New() = %v, want an error with %q", err, tc.err)
			}
			if tel.Active != tc.active {
				t.Errorf("Active = %v, want %v", tel.Active, tc.active)
			}
			_ = tel.Shutdown(t.Context()) // no collector listens
		})
	}
}
