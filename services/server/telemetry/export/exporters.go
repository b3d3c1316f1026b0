// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

var (
	errNone    = errors.New("no exporter is asked for")
	errUnknown = errors.New("no such exporter")
)

// newReader returns what exports metrics as OTEL_METRICS_EXPORTER says, or errNone. OpenTelemetry's package autoexport would link
// exporters of logs, too.
func newReader(ctx context.Context, secure *tls.Config) (sdkmetric.Reader, error) {
	var exporter sdkmetric.Exporter
	var err error
	switch os.Getenv("OTEL_METRICS_EXPORTER") {
	case "", "none":
		return nil, errNone
	case "prometheus":
		return servePrometheus(ctx, secure)
	case "console":
		exporter, err = stdoutmetric.New()
	case "otlp":
		exporter, err = otlp(ctx, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
			func(ctx context.Context) (sdkmetric.Exporter, error) { return otlpmetricgrpc.New(ctx) },
			func(ctx context.Context) (sdkmetric.Exporter, error) { return otlpmetrichttp.New(ctx) })
	default:
		return nil, errUnknown
	}
	if err != nil {
		return nil, err
	}
	return sdkmetric.NewPeriodicReader(exporter), nil
}

// newSpanExporter returns what exports traces as OTEL_TRACES_EXPORTER says, or errNone.
func newSpanExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	switch os.Getenv("OTEL_TRACES_EXPORTER") {
	case "", "none":
		return nil, errNone
	case "console":
		return stdouttrace.New()
	case "otlp":
		return otlp(ctx, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
			func(ctx context.Context) (sdktrace.SpanExporter, error) { return otlptracegrpc.New(ctx) },
			func(ctx context.Context) (sdktrace.SpanExporter, error) { return otlptracehttp.New(ctx) })
	}
	return nil, errUnknown
}

// otlp returns an exporter for the protocol that a variable names, or else OTEL_EXPORTER_OTLP_PROTOCOL.
func otlp[T any](ctx context.Context, variable string, grpc, http func(context.Context) (T, error)) (exporter T, err error) {
	switch protocol := cmp.Or(os.Getenv(variable), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf"); protocol {
	case "grpc":
		return grpc(ctx)
	case "http/protobuf":
		return http(ctx)
	default:
		return exporter, fmt.Errorf("OTLP protocol %q is not supported: set %s to grpc or http/protobuf", protocol, variable)
	}
}
