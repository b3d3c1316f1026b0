// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry exports metrics and spans of a function pod's evaluations, as the OTEL_* environment of the OpenTelemetry
// specification asks for them.
//
// It does without the OpenTelemetry SDK because of the size of the binary, which is copied into every function pod and may have
// 12 MB. With this package the wrapper server has 11.9 MB, with the SDK and its exporter of spans over HTTP 13.6 MB. Metrics are
// those of the Prometheus client, and spans are the messages of OTLP.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
)

// Telemetry is what is exported of this process. It may be used by any number of goroutines at once.
type Telemetry struct {
	log     *slog.Logger
	address string
	metrics *metrics
	spans   *exporter
}

// New reads an environment:
//
//   - OTEL_METRICS_EXPORTER=prometheus serves /metrics on OTEL_EXPORTER_PROMETHEUS_HOST (localhost) and _PORT (9464)
//   - OTEL_TRACES_EXPORTER=otlp sends spans, as http/protobuf, to OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or to v1/traces below
//     OTEL_EXPORTER_OTLP_ENDPOINT (http://localhost:4318), with OTEL_EXPORTER_OTLP_HEADERS, within
//     OTEL_EXPORTER_OTLP_TIMEOUT (10000, in milliseconds); each of them also with TRACES_, which goes first.
//     OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES describe this process
//
// Both default to none, and OTEL_SDK_DISABLED=true means none. What is asked for in another way than these is warned of and
// not exported: functions must run all the same.
func New(environ []string, log *slog.Logger) *Telemetry {
	v, t := newVariables(environ), &Telemetry{log: log}
	address, err := v.metricsAddress()
	if err != nil {
		log.Warn("metrics are not exported", "err", err)
	}
	if address != "" {
		t.address, t.metrics = address, newMetrics()
	}
	settings, err := v.traces()
	if err != nil {
		log.Warn("traces are not exported", "err", err)
	}
	if settings != nil {
		t.spans = newExporter(settings, log)
		if ignored := v.ignored(); len(ignored) > 0 {
			log.Warn("traces are exported without heeding a part of the environment", "variables", ignored)
		}
	}
	return t
}

// Run exports until ctx ends, and for at most two seconds more what is left then. Trouble is logged.
func (t *Telemetry) Run(ctx context.Context) {
	var running sync.WaitGroup
	if t.spans != nil {
		running.Go(func() { t.spans.run(ctx) })
	}
	if t.metrics != nil {
		running.Go(func() {
			if err := t.serveMetrics(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.log.Warn("metrics are not served", "address", t.address, "err", err)
			}
		})
	}
	running.Wait()
}

func (t *Telemetry) serveMetrics(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", t.address)
	if err != nil {
		return err
	}
	return t.metrics.serve(ctx, listener, t.log)
}
