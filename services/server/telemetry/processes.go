// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/evaluation/process/worker"
)

// ObserveWorkers tells of workers:
//
//   - krm_workers: how many there are now
//   - krm_workers_started: how many have been started, so how often they are replaced
//   - krm_workers_refused: commands that should be workers and are none
//   - krm_worker_calls: calls that they have answered
func ObserveWorkers(provider metric.MeterProvider, stats func() worker.Stats) error {
	meter := provider.Meter("github.com/krmfn/krmfn/services/server/telemetry")
	now, err1 := meter.Int64ObservableGauge("krm_workers", metric.WithDescription("Workers that there are."))
	started, err2 := meter.Int64ObservableCounter("krm_workers_started", metric.WithDescription("Workers that have been started."))
	refused, err3 := meter.Int64ObservableCounter("krm_workers_refused", metric.WithDescription("Functions that should be workers and are none."))
	calls, err4 := meter.Int64ObservableCounter("krm_worker_calls", metric.WithDescription("Calls that workers have answered."))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := stats()
		o.ObserveInt64(now, s.Workers)
		o.ObserveInt64(started, s.Started)
		o.ObserveInt64(refused, s.Refused)
		o.ObserveInt64(calls, s.Calls)
		return nil
	}, now, started, refused, calls)
	return err
}

// ObserveStandby counts processes that were started ahead of their calls, by what became of them: krm_standby_processes (fate).
func ObserveStandby(provider metric.MeterProvider, fates func() map[process.Fate]int64) error {
	meter := provider.Meter("github.com/krmfn/krmfn/services/server/telemetry")
	_, err := meter.Int64ObservableCounter("krm_standby_processes",
		metric.WithDescription("Processes that were started ahead of their calls, by what became of them."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			counted := fates()
			for _, fate := range process.AllFates {
				o.Observe(counted[fate], metric.WithAttributes(attribute.String("fate", string(fate))))
			}
			return nil
		}))
	return err
}
