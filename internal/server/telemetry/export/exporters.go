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

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// GRPC creates exporters that send OTLP over gRPC; see package otlpgrpc. The zero value is for programs that do not link gRPC.
type GRPC struct {
	Metrics func(ctx context.Context) (sdkmetric.Exporter, error)
	Traces  func(ctx context.Context) (sdktrace.SpanExporter, error)
}

var (
	errNone    = errors.New("no exporter is configured")
	errUnknown = errors.New("this program does not have such an exporter")
)

// newReader returns the reader for OTEL_METRICS_EXPORTER, or errNone. It replaces OpenTelemetry's package autoexport, which also links
// exporters of logs.
func newReader(ctx context.Context, secure *tls.Config, grpc GRPC) (sdkmetric.Reader, error) {
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
		exporter, err = otlp(ctx, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", grpc.Metrics,
			func(ctx context.Context) (sdkmetric.Exporter, error) { return otlpmetrichttp.New(ctx) })
	default:
		return nil, errUnknown
	}
	if err != nil {
		return nil, err
	}
	return sdkmetric.NewPeriodicReader(exporter), nil
}

// newSpanExporter returns the exporter for OTEL_TRACES_EXPORTER, or errNone.
func newSpanExporter(ctx context.Context, grpc GRPC) (sdktrace.SpanExporter, error) {
	switch os.Getenv("OTEL_TRACES_EXPORTER") {
	case "", "none":
		return nil, errNone
	case "console":
		return stdouttrace.New()
	case "otlp":
		return otlp(ctx, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", grpc.Traces,
			func(ctx context.Context) (sdktrace.SpanExporter, error) { return otlptracehttp.New(ctx) })
	}
	return nil, errUnknown
}

// otlp returns an exporter for the protocol in an environment variable, or else in OTEL_EXPORTER_OTLP_PROTOCOL. grpc may be nil.
func otlp[T any](ctx context.Context, variable string, grpc, http func(context.Context) (T, error)) (exporter T, err error) {
	protocols := "http/protobuf"
	if grpc != nil {
		protocols = "grpc or http/protobuf"
	}
	protocol := cmp.Or(os.Getenv(variable), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	switch {
	case protocol == "http/protobuf":
		return http(ctx)
	case protocol == "grpc" && grpc != nil:
		return grpc(ctx)
	}
	return exporter, fmt.Errorf("this program does not support OTLP protocol %q: set %s to %s", protocol, variable, protocols)
}
