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

// ObserveBudgets measures, for budgets by their names:
//
//   - krm_memory_budget_bytes (budget): what there is
//   - krm_memory_reserved_bytes (budget): what calls have of it
//   - krm_memory_waiting_bytes (budget): what calls wait for
func ObserveBudgets(provider metric.MeterProvider, budgets map[string]*middleware.Budget) error {
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/telemetry")
	unit := metric.WithUnit("By")
	total, err1 := meter.Int64ObservableGauge("krm_memory_budget_bytes", unit, metric.WithDescription("Memory that calls share."))
	reserved, err2 := meter.Int64ObservableGauge("krm_memory_reserved_bytes", unit, metric.WithDescription("Memory that calls have."))
	waiting, err3 := meter.Int64ObservableGauge("krm_memory_waiting_bytes", unit, metric.WithDescription("Memory that calls wait for."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for name, budget := range budgets {
			label := metric.WithAttributes(attribute.String("budget", name))
			has, wants := budget.Load()
			o.ObserveInt64(total, budget.Total(), label)
			o.ObserveInt64(reserved, has, label)
			o.ObserveInt64(waiting, wants, label)
		}
		return nil
	}, total, reserved, waiting)
	return err
}
