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

// ObserveWorkers tells of workers:
//
//   - krm_workers: how many there are now
//   - krm_workers_started: how many have been started, so how often they are replaced
//   - krm_workers_refused: commands that should be workers and are none
//   - krm_worker_calls: calls that they have answered
//   - krm_workers_max: how many there may be
func ObserveWorkers(provider metric.MeterProvider, stats func() worker.Stats, most int) error {
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/telemetry")
	now, err1 := meter.Int64ObservableGauge("krm_workers", metric.WithDescription("Workers that there are."))
	started, err2 := meter.Int64ObservableCounter("krm_workers_started", metric.WithDescription("Workers that have been started."))
	refused, err3 := meter.Int64ObservableCounter("krm_workers_refused", metric.WithDescription("Functions that should be workers and are none."))
	calls, err4 := meter.Int64ObservableCounter("krm_worker_calls", metric.WithDescription("Calls that workers have answered."))
	limit, err5 := meter.Int64ObservableGauge("krm_workers_max", metric.WithDescription("Workers that there may be."))
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

// Standby has processes that are started ahead of their calls; see process.Runner.
type Standby interface {
	StandbyOutcomes() map[process.StandbyOutcome]int64
	Standby() (processes, most int)
}

// ObserveStandby tells of processes that are started ahead of their calls:
//
//   - krm_standby_processes (fate): what became of those that ended
//   - krm_standby_processes_waiting, krm_standby_processes_waiting_max: how many there are, and how many there may be
func ObserveStandby(provider metric.MeterProvider, standby Standby) error {
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/telemetry")
	ended, err1 := meter.Int64ObservableCounter("krm_standby_processes",
		metric.WithDescription("Processes that were started ahead of their calls, by what became of them."))
	waiting, err2 := meter.Int64ObservableGauge("krm_standby_processes_waiting", metric.WithDescription("Processes that wait for their calls."))
	limit, err3 := meter.Int64ObservableGauge("krm_standby_processes_waiting_max", metric.WithDescription("Processes that may wait for their calls."))
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
