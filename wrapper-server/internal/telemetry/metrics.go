// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
	"golang.org/x/net/netutil"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/worker"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/wrapper-server/internal/drain"
)

// metrics are what is counted in this process.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.HistogramVec
	ended    *prometheus.CounterVec
	present  prometheus.Gauge
	refused  prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls:    newCalls(),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "krm_function_pod_evaluations_total", Help: "Evaluations that ended in this function pod.",
		}, []string{"code"}),
		present: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "krm_function_pod_present", Help: "Evaluations that run or wait in this function pod.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "krm_tls_connections_refused_total", Help: "Connections that ended before they were secured.",
		}),
	}
	m.registry.MustRegister(m.calls, m.ended, m.present, m.refused, collectors.NewGoCollector())
	return m
}

// Count counts evaluations where metrics are asked for:
//
//   - krm_function_pod_evaluations_total (code): those that ended; see evaluation.Code, and "draining"
//   - krm_function_pod_present: those that run or wait
func (t *Telemetry) Count(e evaluation.Evaluator) evaluation.Evaluator {
	if t.metrics == nil {
		return e
	}
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		t.metrics.present.Inc()
		defer t.metrics.present.Dec()
		resp, err := e.Evaluate(ctx, req)
		t.metrics.ended.WithLabelValues(code(resp, err)).Inc()
		return resp, err
	})
}

// Refused counts a connection that ended before it was secured, as internal/server/certificates does, where metrics are asked for:
// krm_tls_connections_refused_total.
func (t *Telemetry) Refused() {
	if t.metrics != nil {
		t.metrics.refused.Inc()
	}
}

// Workers has counts of workers served where metrics are asked for: krm_workers, krm_workers_started_total,
// krm_workers_refused_total and krm_worker_calls_total, as internal/server/telemetry has them.
func (t *Telemetry) Workers(stats func() worker.Stats) {
	if t.metrics == nil {
		return
	}
	count := func(name, help string, of func(worker.Stats) int64) {
		value := func() float64 { return float64(of(stats())) }
		if strings.HasSuffix(name, "_total") {
			t.metrics.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
			return
		}
		t.metrics.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	count("krm_workers", "Workers that there are.", func(s worker.Stats) int64 { return s.Workers })
	count("krm_workers_started_total", "Workers that have been started.", func(s worker.Stats) int64 { return s.Started })
	count("krm_workers_refused_total", "Functions that should be workers and are none.", func(s worker.Stats) int64 { return s.Refused })
	count("krm_worker_calls_total", "Calls that workers have answered.", func(s worker.Stats) int64 { return s.Calls })
}

// Standby has the processes that were started ahead of their calls counted by what became of them, where metrics are asked for, as
// internal/server/telemetry does: krm_standby_processes_total (fate).
func (t *Telemetry) Standby(outcomes func() map[process.StandbyOutcome]int64) {
	if t.metrics == nil {
		return
	}
	for _, outcome := range process.AllStandbyOutcomes {
		t.metrics.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "krm_standby_processes_total", Help: "Processes that were started ahead of their calls, by what became of them.",
			ConstLabels: prometheus.Labels{"fate": string(outcome)},
		}, func() float64 { return float64(outcomes()[outcome]) }))
	}
}

// code is evaluation.Code, with a word for calls that came after the beginning of a shutdown.
func code(resp evaluation.Response, err error) string {
	if errors.Is(err, drain.ErrDraining) {
		return "draining"
	}
	return evaluation.Code(resp, err)
}

const (
	// headerTimeout limits the time to receive a scrape request, and scrapeTimeout the time for the request and the response.
	headerTimeout = 5 * time.Second
	scrapeTimeout = 30 * time.Second
	maxHeader     = 16 << 10
	// maxScrapers connections are there at once; further ones wait.
	maxScrapers = 16
)

// serve answers scrapes of /metrics on the listener until ctx ends.
func (m *metrics) serve(ctx context.Context, listener net.Listener, log *slog.Logger) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", m.scrape)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: scrapeTimeout, WriteTimeout: scrapeTimeout,
		IdleTimeout: 5 * time.Minute, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = server.Close()
	})
	err := server.Serve(netutil.LimitListener(listener, maxScrapers))
	if stop() {
		return err
	}
	<-closed
	return nil
}

// scrape writes the text format. The handler of promhttp does the same in a quarter of a megabyte more, and an encoder of expfmt has all
// other formats with it.
func (m *metrics) scrape(w http.ResponseWriter, _ *http.Request) {
	families, err := m.registry.Gather()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(w, family); err != nil {
			return
		}
	}
}
