// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// newCalls returns the histogram that OpenTelemetry's instrumentation of gRPC makes by way of its Prometheus exporter: name,
// unit, buckets, and labels without those of the instrumentation's scope.
func newCalls() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "rpc_server_call_duration_seconds",
		Help:    "Measures the duration of an incoming Remote Procedure Call (RPC).",
		Buckets: []float64{.005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10},
	}, []string{"rpc_system_name", "rpc_method", "rpc_response_status_code", "error_type"})
}

// ServerOptions are those of a gRPC server whose calls are measured where metrics are asked for.
func (t *Telemetry) ServerOptions() []grpc.ServerOption {
	if t.metrics == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.StatsHandler(callsHandler{t.metrics.calls})}
}

// callsHandler observes calls of methods that the server has. gRPC does not tell it of others, so that callers cannot make
// up series.
type callsHandler struct{ calls *prometheus.HistogramVec }

type methodKey struct{}

func (callsHandler) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, methodKey{}, strings.TrimPrefix(info.FullMethodName, "/"))
}

func (h callsHandler) HandleRPC(ctx context.Context, s stats.RPCStats) {
	end, ok := s.(*stats.End)
	if !ok {
		return
	}
	method, _ := ctx.Value(methodKey{}).(string)
	code := status.Code(end.Error)
	errorType := ""
	if serverError(code) {
		errorType = codeName(code)
	}
	h.calls.WithLabelValues("grpc", method, codeName(code), errorType).Observe(end.EndTime.Sub(end.BeginTime).Seconds())
}

func (callsHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (callsHandler) HandleConn(context.Context, stats.ConnStats) {}

// serverError tells whether a code says that the server, and not its caller, is at fault.
func serverError(code codes.Code) bool {
	switch code {
	case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal, codes.Unavailable, codes.DataLoss:
		return true
	default:
		return false
	}
}

// names are those of the codes in gRPC's protocol, in order.
var names = []string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
	"UNAUTHENTICATED",
}

func codeName(code codes.Code) string {
	if int(code) < len(names) {
		return names[code]
	}
	return "CODE(" + strconv.FormatUint(uint64(code), 10) + ")"
}
