// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry measures calls and propagates traces. Package export sets up the exporters; it is separate so that programs which only
// evaluate functions link none.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
)

// defaultFlushTimeout is the default for Telemetry.FlushTimeout.
const defaultFlushTimeout = 5 * time.Second

// Telemetry creates instruments and tracers, and exports their data.
type Telemetry struct {
	// Metrics creates instruments, and Traces creates tracers.
	Metrics metric.MeterProvider
	Traces  trace.TracerProvider
	// Active reports whether anything is exported. If not, measuring has no effect.
	Active bool
	// Propagator propagates traces across calls: W3C trace context and baggage.
	Propagator propagation.TextMapPropagator
	// Reloads measures configuration reloads.
	Reloads *Reloads

	// Exporters are shut down by Shutdown.
	Exporters []Exporter
	// FlushTimeout limits Shutdown. The default is 5 seconds.
	FlushTimeout time.Duration
}

// Exporter buffers telemetry until it is sent.
type Exporter interface {
	// Shutdown sends the buffered telemetry.
	Shutdown(ctx context.Context) error
}

// ServerOptions returns options for a gRPC server that measures its calls; none if nothing is exported. t may be nil.
func (t *Telemetry) ServerOptions() []grpc.ServerOption {
	if t == nil || !t.Active {
		return nil
	}
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(t.instruments()...))}
}

// DialOptions returns options for a gRPC client that measures its calls. If nothing is exported, calls stay in their callers' traces.
func (t *Telemetry) DialOptions() []grpc.DialOption {
	if t == nil || !t.Active {
		return forwarding()
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(t.instruments()...))}
}

func (t *Telemetry) instruments() []otelgrpc.Option {
	return []otelgrpc.Option{otelgrpc.WithMeterProvider(t.Metrics), otelgrpc.WithTracerProvider(t.Traces), otelgrpc.WithPropagators(t.Propagator)}
}

// Shutdown sends the buffered telemetry within FlushTimeout, even if ctx has ended. One exporter does not wait for another.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(t.FlushTimeout, defaultFlushTimeout))
	defer cancel()
	errs := make([]error, len(t.Exporters))
	var all sync.WaitGroup
	for i, exporter := range t.Exporters {
		all.Go(func() { errs[i] = exporter.Shutdown(ctx) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("export the last telemetry: %w", err)
	}
	return nil
}
