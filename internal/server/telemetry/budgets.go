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

// ObserveBudgets registers the metrics of memory budgets. The keys of budgets are the values of the label budget:
//
//   - krm_memory_budget_bytes (budget): size of the budget
//   - krm_memory_reserved_bytes (budget): memory that running calls have reserved
//   - krm_memory_waiting_bytes (budget): memory that queued calls will reserve
func ObserveBudgets(provider metric.MeterProvider, budgets map[string]*middleware.Budget) error {
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/telemetry")
	unit := metric.WithUnit("By")
	total, err1 := meter.Int64ObservableGauge("krm_memory_budget_bytes", unit, metric.WithDescription("Size of the memory budget."))
	reserved, err2 := meter.Int64ObservableGauge("krm_memory_reserved_bytes", unit, metric.WithDescription("Memory that running calls have reserved."))
	waiting, err3 := meter.Int64ObservableGauge("krm_memory_waiting_bytes", unit, metric.WithDescription("Memory that queued calls will reserve."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for name, budget := range budgets {
			label := metric.WithAttributes(attribute.String("budget", name))
			inUse, queued := budget.Load()
			o.ObserveInt64(total, budget.Total(), label)
			o.ObserveInt64(reserved, inUse, label)
			o.ObserveInt64(waiting, queued, label)
		}
		return nil
	}, total, reserved, waiting)
	return err
}
