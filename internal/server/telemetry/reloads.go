// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Reloads measures configuration that a program reloads while it runs. A nil Reloads measures nothing. Safe for concurrent use.
type Reloads struct {
	mu      sync.Mutex
	configs map[string]*reloads
}

// reloads is the state of one configuration.
type reloads struct {
	successes, failures int64
	failing             bool
	// loaded is when the configuration in use was loaded; zero before the first success.
	loaded time.Time
}

// NewReloads returns a Reloads that measures:
//
//   - krm_config_reloads (config, result: success, failure): number of times that a changed or invalid configuration was loaded
//   - krm_config_last_reload_successful (config): 1, or 0 while the latest configuration is invalid
//   - krm_config_last_reload_success_timestamp_seconds (config): when the configuration in use was loaded, in seconds since the epoch
func NewReloads(provider metric.MeterProvider) (*Reloads, error) {
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/telemetry")
	count, err1 := meter.Int64ObservableCounter("krm_config_reloads", metric.WithDescription("Loads of changed or invalid configurations."))
	successful, err2 := meter.Int64ObservableGauge("krm_config_last_reload_successful", metric.WithDescription("1, or 0 while the latest configuration is invalid."))
	last, err3 := meter.Float64ObservableGauge("krm_config_last_reload_success_timestamp_seconds",
		metric.WithDescription("When the configuration in use was loaded, in seconds since the epoch."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	r := &Reloads{configs: map[string]*reloads{}}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for name, c := range r.configs {
			config := attribute.String("config", name)
			o.ObserveInt64(count, c.successes, metric.WithAttributes(config, attribute.String("result", "success")))
			o.ObserveInt64(count, c.failures, metric.WithAttributes(config, attribute.String("result", "failure")))
			ok := int64(1)
			if c.failing {
				ok = 0
			}
			o.ObserveInt64(successful, ok, metric.WithAttributes(config))
			if !c.loaded.IsZero() {
				o.ObserveFloat64(last, float64(c.loaded.UnixMilli())/1000, metric.WithAttributes(config))
			}
		}
		return nil
	}, count, successful, last)
	return r, err
}

// Record records that a configuration has been read. err is the reason why it is invalid, so that the previous one stays in use. changed
// reports whether it has changed. The first success, and the first success after a failure, count as changes. config becomes a label, and
// must have few values.
func (r *Reloads) Record(config string, changed bool, err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.configs[config]
	if c == nil {
		c = &reloads{}
		r.configs[config] = c
	}
	if err != nil {
		c.failing = true
		c.failures++
		return
	}
	if changed || c.failing || c.loaded.IsZero() {
		c.successes++
		c.loaded = time.Now()
	}
	c.failing = false
}
