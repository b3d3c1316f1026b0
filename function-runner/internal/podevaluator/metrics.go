// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/krmfn/krmfn/services/images/reference"
)

// Metrics measures calls. A nil one measures nothing.
type Metrics struct{ retries metric.Int64Counter }

// NewMetrics returns the instrument:
//
//   - krm_function_retries (image): calls that a pod has not begun with and that were sent again
func NewMetrics(meter metric.Meter) (*Metrics, error) {
	retries, err := meter.Int64Counter("krm_function_retries", metric.WithDescription("Calls that a function pod has not begun with and that were sent again."))
	return &Metrics{retries: retries}, err
}

func (m *Metrics) retried(ctx context.Context, ref string) {
	if m != nil {
		repository, _, _ := reference.Split(ref)
		m.retries.Add(ctx, 1, metric.WithAttributes(attribute.String("image", repository)))
	}
}
