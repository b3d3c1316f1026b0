// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/worker"
)

// ObserveWorkers registers the metrics of worker processes:
//
//   - krm_workers: number of running workers
//   - krm_workers_started: number of workers started, including replacements
//   - krm_workers_refused: number of commands that were expected to run as workers, but do not support it
//   - krm_worker_calls: number of calls that workers have answered
//   - krm_workers_max: maximum number of running workers
func ObserveWorkers(provider metric.MeterProvider, stats func() worker.Stats, most int) error {
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/telemetry")
	now, err1 := meter.Int64ObservableGauge("krm_workers", metric.WithDescription("Running workers."))
	started, err2 := meter.Int64ObservableCounter("krm_workers_started", metric.WithDescription("Workers started."))
	refused, err3 := meter.Int64ObservableCounter("krm_workers_refused", metric.WithDescription("Functions that were expected to run as workers, but do not support it."))
	calls, err4 := meter.Int64ObservableCounter("krm_worker_calls", metric.WithDescription("Calls answered by workers."))
	limit, err5 := meter.Int64ObservableGauge("krm_workers_max", metric.WithDescription("Maximum number of running workers."))
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := stats()
		o.ObserveInt64(limit, int64(most))
		o.ObserveInt64(now, s.Workers)
		o.ObserveInt64(started, s.Started)
		o.ObserveInt64(refused, s.Refused)
		o.ObserveInt64(calls, s.Calls)
		return nil
	}, now, started, refused, calls, limit)
	return err
}

// Standby counts standby processes. process.Runner implements it.
type Standby interface {
	StandbyOutcomes() map[process.StandbyOutcome]int64
	Standby() (processes, most int)
}

// ObserveStandby registers the metrics of standby processes:
//
//   - krm_standby_processes (fate): number of former standby processes, by outcome
//   - krm_standby_processes_waiting, krm_standby_processes_waiting_max: number of standby processes, and its limit
func ObserveStandby(provider metric.MeterProvider, standby Standby) error {
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/telemetry")
	ended, err1 := meter.Int64ObservableCounter("krm_standby_processes",
		metric.WithDescription("Former standby processes, by outcome."))
	waiting, err2 := meter.Int64ObservableGauge("krm_standby_processes_waiting", metric.WithDescription("Standby processes."))
	limit, err3 := meter.Int64ObservableGauge("krm_standby_processes_waiting_max", metric.WithDescription("Maximum number of standby processes."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		counts := standby.StandbyOutcomes()
		for _, outcome := range process.AllStandbyOutcomes {
			o.ObserveInt64(ended, counts[outcome], metric.WithAttributes(attribute.String("fate", string(outcome))))
		}
		processes, most := standby.Standby()
		o.ObserveInt64(waiting, int64(processes))
		o.ObserveInt64(limit, int64(most))
		return nil
	}, ended, waiting, limit)
	return err
}
