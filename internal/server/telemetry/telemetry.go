// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry measures calls and carries traces across them. Package export sets up where metrics and traces go, apart from this
// package, so that programs which only evaluate functions link no exporters.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
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

	// Exporters are shut down by Shutdown, in this order.
	Exporters []Exporter
}

// Exporter holds telemetry until it is sent.
type Exporter interface {
	// Shutdown sends what is left.
	Shutdown(ctx context.Context) error
}

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
	errs := make([]error, 0, len(t.Exporters))
	for _, exporter := range t.Exporters {
		errs = append(errs, exporter.Shutdown(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("export the last telemetry: %w", err)
	}
	return nil
}
