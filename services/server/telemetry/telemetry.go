// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry exports metrics and traces as the OTEL_* environment of the OpenTelemetry specification says. What is
// not asked for there is not exported.
package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
)

// flush is how long exporters may take at shutdown to get rid of what they hold.
const flush = 5 * time.Second

// Telemetry is where metrics and traces go.
type Telemetry struct {
	// Metrics and Traces make instruments.
	Metrics metric.MeterProvider
	Traces  trace.TracerProvider
	// Active says that anything is exported. Without it there is no use in measuring.
	Active bool
	// Propagator carries traces across calls: W3C trace context and baggage.
	Propagator propagation.TextMapPropagator
	// Reloads measures configuration that is read again.
	Reloads *Reloads

	shutdown []func(context.Context) error
}

// New sets up the exporters that the environment names: OTEL_METRICS_EXPORTER (otlp, prometheus, console, none),
// OTEL_TRACES_EXPORTER (otlp, console, none) and what further configures them. Both default to none, unlike in the
// specification: nobody may be listening where otlp would send to. With secure, prometheus serves HTTPS. Call Shutdown in the end.
func New(ctx context.Context, service, version string, secure *tls.Config) (*Telemetry, error) {
	res, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describe this process for telemetry: %w", err)
	}
	t := &Telemetry{Propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})}
	if err := t.metrics(ctx, res, service, version, secure); err != nil {
		return nil, fmt.Errorf("export metrics with OTEL_METRICS_EXPORTER=%q: %w", os.Getenv("OTEL_METRICS_EXPORTER"), err)
	}
	if err := t.traces(ctx, res); err != nil {
		return nil, errors.Join(fmt.Errorf("export traces with OTEL_TRACES_EXPORTER=%q: %w", os.Getenv("OTEL_TRACES_EXPORTER"), err), t.Shutdown(ctx))
	}
	return t, nil
}

func (t *Telemetry) metrics(ctx context.Context, res *resource.Resource, service, version string, secure *tls.Config) error {
	none := func(context.Context) (sdkmetric.Reader, error) { return nil, errNone }
	read := func(ctx context.Context) (sdkmetric.Reader, error) {
		return autoexport.NewMetricReader(ctx, autoexport.WithFallbackMetricReader(none))
	}
	if secure != nil && os.Getenv("OTEL_METRICS_EXPORTER") == "prometheus" {
		read = func(ctx context.Context) (sdkmetric.Reader, error) { return servePrometheus(ctx, secure) }
	}
	reader, err := read(ctx)
	switch {
	case errors.Is(err, errNone) || (err == nil && autoexport.IsNoneMetricReader(reader)):
		t.Metrics = metricnoop.NewMeterProvider()
		return nil
	case err != nil:
		return err
	}
	t.Active = true
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res))
	t.Metrics, t.shutdown = provider, append(t.shutdown, provider.Shutdown)
	if t.Reloads, err = NewReloads(provider); err != nil {
		return err
	}
	return errors.Join(observeBuild(provider, service, version), runtime.Start(runtime.WithMeterProvider(provider)))
}

func (t *Telemetry) traces(ctx context.Context, res *resource.Resource) error {
	none := func(context.Context) (sdktrace.SpanExporter, error) { return nil, errNone }
	exporter, err := autoexport.NewSpanExporter(ctx, autoexport.WithFallbackSpanExporter(none))
	switch {
	case errors.Is(err, errNone) || (err == nil && autoexport.IsNoneSpanExporter(exporter)):
		t.Traces = tracenoop.NewTracerProvider()
		return nil
	case err != nil:
		return err
	}
	t.Active = true
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(exporter))
	t.Traces, t.shutdown = provider, append(t.shutdown, provider.Shutdown)
	return nil
}

var errNone = errors.New("no exporter is asked for")

// ServerOptions has a gRPC server measure its calls. There are none where nothing is exported; t may be nil.
func (t *Telemetry) ServerOptions() []grpc.ServerOption {
	if t == nil || !t.Active {
		return nil
	}
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(t.instruments()...))}
}

// DialOptions does for clients what ServerOptions does for servers. Where nothing is exported, calls stay in their callers' traces.
func (t *Telemetry) DialOptions() []grpc.DialOption {
	if t == nil || !t.Active {
		return forwarding()
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(t.instruments()...))}
}

func (t *Telemetry) instruments() []otelgrpc.Option {
	return []otelgrpc.Option{otelgrpc.WithMeterProvider(t.Metrics), otelgrpc.WithTracerProvider(t.Traces), otelgrpc.WithPropagators(t.Propagator)}
}

// Shutdown exports what is left, within a few seconds, even when ctx has ended.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flush)
	defer cancel()
	errs := make([]error, 0, len(t.shutdown))
	for _, shutdown := range t.shutdown {
		errs = append(errs, shutdown(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("export the last telemetry: %w", err)
	}
	return nil
}
