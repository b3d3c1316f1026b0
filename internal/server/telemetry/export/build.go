// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"runtime"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// observeBuild registers the metric krm_build_info (component, version, goversion), whose value is always 1.
func observeBuild(provider metric.MeterProvider, service, version string) error {
	labels := metric.WithAttributes(
		attribute.String("component", service), attribute.String("version", version), attribute.String("goversion", runtime.Version()))
	_, err := provider.Meter("github.com/krmfn/krmfn/internal/server/telemetry").Int64ObservableGauge("krm_build_info",
		metric.WithDescription("Always 1. The labels have the version of this program."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(1, labels)
			return nil
		}))
	return err
}
