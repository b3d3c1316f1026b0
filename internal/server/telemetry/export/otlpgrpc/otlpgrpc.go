// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpgrpc exports telemetry by OTLP over gRPC. Programs that serve gRPC use it; it would make the others larger by 1 MB.
package otlpgrpc

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/krmfn/krmfn/internal/server/telemetry/export"
)

// Exporters makes exporters as the OTEL_EXPORTER_OTLP_* environment says.
var Exporters = export.GRPC{
	Metrics: func(ctx context.Context) (sdkmetric.Exporter, error) { return otlpmetricgrpc.New(ctx) },
	Traces:  func(ctx context.Context) (sdktrace.SpanExporter, error) { return otlptracegrpc.New(ctx) },
}
