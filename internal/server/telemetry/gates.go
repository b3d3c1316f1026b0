// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/internal/middleware"
)

// ObserveGates registers the metrics of concurrency limits. The keys of gates are the values of the label kind, such as executables:
//
//   - krm_calls_running, krm_calls_running_max (kind): number of running calls, and its limit
//   - krm_calls_waiting, krm_calls_waiting_max (kind): number of queued calls, and its limit
func ObserveGates(provider metric.MeterProvider, gates map[string]*middleware.Gate) error {
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/telemetry")
	running, err1 := meter.Int64ObservableGauge("krm_calls_running", metric.WithDescription("Running calls."))
	maxRunning, err2 := meter.Int64ObservableGauge("krm_calls_running_max", metric.WithDescription("Maximum number of running calls."))
	waiting, err3 := meter.Int64ObservableGauge("krm_calls_waiting", metric.WithDescription("Queued calls."))
	maxWaiting, err4 := meter.Int64ObservableGauge("krm_calls_waiting_max", metric.WithDescription("Maximum number of queued calls."))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for kind, gate := range gates {
			label := metric.WithAttributes(attribute.String("kind", kind))
			run, wait := gate.Load()
			mayRun, mayWait := gate.Max()
			o.ObserveInt64(running, int64(run), label)
			o.ObserveInt64(waiting, int64(wait), label)
			o.ObserveInt64(maxRunning, int64(mayRun), label)
			o.ObserveInt64(maxWaiting, int64(mayWait), label)
		}
		return nil
	}, running, maxRunning, waiting, maxWaiting)
	return err
}
