// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package export sets up telemetry according to the OTEL_* environment variables of the OpenTelemetry specification. Without them, nothing
// is exported.
package export

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel/attribute"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/krmfn/krmfn/internal/server/telemetry"
)

// New creates the exporters named by OTEL_METRICS_EXPORTER (otlp, prometheus, console, none) and OTEL_TRACES_EXPORTER (otlp, console,
// none). Both default to none, unlike in the specification, because otlp would send to a collector that may not exist.
// OTEL_SDK_DISABLED=true means none. prometheus serves HTTPS if secure is not nil. otlp uses HTTP, or gRPC if the environment selects it
// and grpc is not the zero value. attributes describe the process, together with the service and OTEL_RESOURCE_ATTRIBUTES.
//
// The result is never nil. If one exporter cannot be created, New returns an error and a result with the other one. Later errors, for
// example because a collector does not answer, are logged. The caller must call Shutdown.
func New(ctx context.Context, service, version string, secure *tls.Config, grpc GRPC, attributes ...attribute.KeyValue) (*telemetry.Telemetry, error) {
	t := &telemetry.Telemetry{
		Metrics: metricnoop.NewMeterProvider(), Traces: tracenoop.NewTracerProvider(),
		Propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return t, nil
	}
	logErrors()
	res, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)),
		resource.WithAttributes(attributes...), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		err = fmt.Errorf("create the telemetry resource: %w", err)
	}
	if metricsErr := metrics(ctx, t, res, service, version, secure, grpc); metricsErr != nil {
		err = errors.Join(err, fmt.Errorf("export metrics with OTEL_METRICS_EXPORTER=%q: %w", os.Getenv("OTEL_METRICS_EXPORTER"), metricsErr))
	}
	if tracesErr := traces(ctx, t, res, grpc); tracesErr != nil {
		err = errors.Join(err, fmt.Errorf("export traces with OTEL_TRACES_EXPORTER=%q: %w", os.Getenv("OTEL_TRACES_EXPORTER"), tracesErr))
	}
	return t, err
}

// metrics sets up the export of metrics in t, unless the environment names no exporter.
func metrics(ctx context.Context, t *telemetry.Telemetry, res *resource.Resource, service, version string, secure *tls.Config, grpc GRPC) error {
	reader, err := newReader(ctx, secure, grpc)
	switch {
	case errors.Is(err, errNone):
		return nil
	case err != nil:
		return err
	}
	t.Active = true
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res))
	t.Metrics, t.Exporters = provider, append(t.Exporters, provider)
	if t.Reloads, err = telemetry.NewReloads(provider); err != nil {
		return err
	}
	return errors.Join(observeBuild(provider, service, version), runtime.Start(runtime.WithMeterProvider(provider)))
}

// traces sets up the export of traces in t, unless the environment names no exporter.
func traces(ctx context.Context, t *telemetry.Telemetry, res *resource.Resource, grpc GRPC) error {
	exporter, err := newSpanExporter(ctx, grpc)
	switch {
	case errors.Is(err, errNone):
		return nil
	case err != nil:
		return err
	}
	t.Active = true
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(exporter))
	t.Traces, t.Exporters = provider, append(t.Exporters, provider)
	return nil
}
