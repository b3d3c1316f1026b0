// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpgrpc exports telemetry with OTLP over gRPC. It is a separate package because it adds 1 MB to programs that do not serve
// gRPC.
package otlpgrpc

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/krmfn/krmfn/internal/server/telemetry/export"
)

// Exporters creates exporters that the variables OTEL_EXPORTER_OTLP_* configure.
var Exporters = export.GRPC{
	Metrics: func(ctx context.Context) (sdkmetric.Exporter, error) { return otlpmetricgrpc.New(ctx) },
	Traces:  func(ctx context.Context) (sdktrace.SpanExporter, error) { return otlptracegrpc.New(ctx) },
}
