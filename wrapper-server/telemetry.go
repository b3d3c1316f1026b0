// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/server/telemetry"
	"github.com/krmfn/krmfn/internal/server/telemetry/export"
	"github.com/krmfn/krmfn/internal/server/version"
	"github.com/krmfn/krmfn/services/evaluation"
)

const (
	// scope is the name of the wrapper server's meter and tracer.
	scope = "github.com/krmfn/krmfn/wrapper-server"
	// flushTimeout limits the export of the last spans. With the default drain timeout, it must fit into the pod's termination grace period.
	flushTimeout = 2 * time.Second
	// maxImageBytes limits the image name in a span. Callers choose the image, and many spans may wait for a collector.
	maxImageBytes = 256
)

// newTelemetry sets up the exporters that the process's environment names. Settings that cannot be used are logged, and the function runs
// without that telemetry.
func newTelemetry(ctx context.Context, log *slog.Logger) *telemetry.Telemetry {
	var attributes []attribute.KeyValue
	if pod := os.Getenv("HOSTNAME"); pod != "" {
		attributes = append(attributes, semconv.K8SPodName(pod))
	}
	t, err := export.New(ctx, "krmfn-wrapper-server", version.Version(), nil, export.GRPC{}, attributes...)
	if err != nil {
		log.Warn("telemetry is not exported", "err", err)
	}
	t.FlushTimeout = flushTimeout
	return t
}

// measureCalls returns options for a gRPC server that measures its calls. It creates no spans, because health checks would have spans, too.
func measureCalls(t *telemetry.Telemetry) []grpc.ServerOption {
	metricsOnly := *t
	metricsOnly.Traces = tracenoop.NewTracerProvider()
	return metricsOnly.ServerOptions()
}

// metrics are the instruments of the wrapper server:
//
//   - krm_function_pod_evaluations (code): evaluations that ended; the code is middleware.Code or "draining"
//   - krm_function_pod_present: evaluations that run or wait
//   - krm_tls_connections_refused: connections that ended during the TLS handshake
type metrics struct {
	ended   metric.Int64Counter
	present metric.Int64UpDownCounter
	refused metric.Int64Counter
}

func newMetrics(ctx context.Context, provider metric.MeterProvider) (metrics, error) {
	meter := provider.Meter(scope)
	ended, err1 := meter.Int64Counter("krm_function_pod_evaluations", metric.WithDescription("Evaluations that ended in this function pod."))
	present, err2 := meter.Int64UpDownCounter("krm_function_pod_present", metric.WithDescription("Evaluations that run or wait in this function pod."))
	refused, err3 := meter.Int64Counter("krm_tls_connections_refused", metric.WithDescription("Connections that ended during the TLS handshake."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return metrics{}, err
	}
	// Without a value, a time series would begin with the first call.
	present.Add(ctx, 0)
	refused.Add(ctx, 0)
	return metrics{ended, present, refused}, nil
}

// counted returns an evaluator that counts the evaluations of e.
func (m metrics) counted(e evaluation.Evaluator) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		m.present.Add(ctx, 1)
		defer m.present.Add(ctx, -1)
		resp, err := e.Evaluate(ctx, req)
		m.ended.Add(ctx, 1, metric.WithAttributes(attribute.String("code", code(resp, err))))
		return resp, err
	})
}

// traced returns an evaluator that records a span for each evaluation of e, below the caller's span.
func traced(e evaluation.Evaluator, provider trace.TracerProvider) evaluation.Evaluator {
	tracer := provider.Tracer(scope)
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		ctx, span := tracer.Start(ctx, "EvaluateFunction", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		resp, err := e.Evaluate(ctx, req)
		if span.IsRecording() {
			describe(ctx, span, req.Image, resp, err)
		}
		return resp, err
	})
}

// describe adds the outcome to a span, without content of the package: messages of failures may quote it, codes do not.
func describe(ctx context.Context, span trace.Span, image string, resp evaluation.Response, err error) {
	outcome := code(resp, err)
	span.SetAttributes(attribute.String("krm_function.image", shorten(image)), attribute.String("krm_function.code", outcome))
	if method, ok := grpc.Method(ctx); ok {
		span.SetAttributes(attribute.String("rpc.system.name", "grpc"), attribute.String("rpc.method", strings.TrimPrefix(method, "/")))
	}
	if resp.Report != nil {
		span.SetAttributes(semconv.ProcessExitCode(int(resp.Report.GetExitCode())))
	}
	if outcome != middleware.CodeOK {
		span.SetStatus(codes.Error, outcome)
	}
}

// shorten returns at most maxImageBytes bytes of an image name, in valid UTF-8.
func shorten(image string) string {
	return strings.ToValidUTF8(image[:min(len(image), maxImageBytes)], "")
}

// code is middleware.Code, or "draining" for calls that are rejected during the shutdown.
func code(resp evaluation.Response, err error) string {
	if errors.Is(err, errDraining) {
		return "draining"
	}
	return middleware.Code(resp, err)
}
