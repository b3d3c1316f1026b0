// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package export sets up telemetry as the OTEL_* environment of the OpenTelemetry specification says. What is not asked for there is
// not exported.
package export

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"go.opentelemetry.io/contrib/instrumentation/runtime"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/krmfn/krmfn/internal/server/telemetry"
)

// New sets up the exporters that the environment names: OTEL_METRICS_EXPORTER (otlp, prometheus, console, none),
// OTEL_TRACES_EXPORTER (otlp, console, none) and what further configures them. Both default to none, unlike in the
// specification: nobody may be listening where otlp would send to. With secure, prometheus serves HTTPS. otlp sends by HTTP, or by gRPC
// if the environment says so and grpc is not the zero value. Call Shutdown in the end.
func New(ctx context.Context, service, version string, secure *tls.Config, grpc GRPC) (*telemetry.Telemetry, error) {
	res, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describe this process for telemetry: %w", err)
	}
	t := &telemetry.Telemetry{Propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})}
	if err := metrics(ctx, t, res, service, version, secure, grpc); err != nil {
		return nil, fmt.Errorf("export metrics with OTEL_METRICS_EXPORTER=%q: %w", os.Getenv("OTEL_METRICS_EXPORTER"), err)
	}
	if err := traces(ctx, t, res, grpc); err != nil {
		return nil, errors.Join(fmt.Errorf("export traces with OTEL_TRACES_EXPORTER=%q: %w", os.Getenv("OTEL_TRACES_EXPORTER"), err), t.Shutdown(ctx))
	}
	return t, nil
}

func metrics(ctx context.Context, t *telemetry.Telemetry, res *resource.Resource, service, version string, secure *tls.Config, grpc GRPC) error {
	reader, err := newReader(ctx, secure, grpc)
	switch {
	case errors.Is(err, errNone):
		t.Metrics = metricnoop.NewMeterProvider()
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

func traces(ctx context.Context, t *telemetry.Telemetry, res *resource.Resource, grpc GRPC) error {
	exporter, err := newSpanExporter(ctx, grpc)
	switch {
	case errors.Is(err, errNone):
		t.Traces = tracenoop.NewTracerProvider()
		return nil
	case err != nil:
		return err
	}
	t.Active = true
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(exporter))
	t.Traces, t.Exporters = provider, append(t.Exporters, provider)
	return nil
}
