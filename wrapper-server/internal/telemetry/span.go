// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/services/evaluation"
)

// maxAttribute is the most bytes of a text in a span. A caller chooses the image, and many spans may wait for a collector.
const maxAttribute = 256

// Trace makes each evaluation a span, a child of the caller's where the call carries one, and puts it into the context, for
// Logger. The span is exported when traces are, unless the caller decided against it. Without either nothing is done.
func (t *Telemetry) Trace(e evaluation.Evaluator) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		parent := remote(ctx)
		if !parent.valid() && t.spans == nil {
			return e.Evaluate(ctx, req)
		}
		own := child(parent)
		begin := time.Now()
		resp, err := e.Evaluate(withSpan(ctx, own), req)
		if t.spans != nil && own.sampled {
			span := describe(ctx, req, resp, err)
			span.TraceId, span.SpanId, span.TraceState = own.trace[:], own.span[:], own.state
			if parent.valid() {
				span.ParentSpanId = parent.span[:]
			}
			span.StartTimeUnixNano, span.EndTimeUnixNano = nanoseconds(begin), nanoseconds(begin.Add(time.Since(begin)))
			t.spans.add(span)
		}
		return resp, err
	})
}

// child names a new span in the trace of its parent, or else in a new trace.
func child(parent spanContext) spanContext {
	own := parent
	if !parent.valid() {
		own.sampled = true
		_, _ = rand.Read(own.trace[:])
	}
	_, _ = rand.Read(own.span[:])
	return own
}

// describe says what happened, and nothing of the package: a failure's message may quote it, its reason does not.
func describe(ctx context.Context, req evaluation.Request, resp evaluation.Response, err error) *tracepb.Span {
	result := code(resp, err)
	span := &tracepb.Span{
		Name:       "EvaluateFunction",
		Kind:       tracepb.Span_SPAN_KIND_SERVER,
		Attributes: []*commonpb.KeyValue{text("krm_function.image", req.Image), text("krm_function.code", result)},
	}
	if method, ok := grpc.Method(ctx); ok {
		span.Attributes = append(span.Attributes, text("rpc.system.name", "grpc"), text("rpc.method", strings.TrimPrefix(method, "/")))
	}
	if resp.Report != nil {
		span.Attributes = append(span.Attributes, number("process.exit.code", int64(resp.Report.GetExitCode())))
	}
	if result != evaluation.CodeOK {
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: result}
	}
	return span
}

func nanoseconds(t time.Time) uint64 { return uint64(t.UnixNano()) }

func text(key, value string) *commonpb.KeyValue {
	value = strings.ToValidUTF8(value[:min(len(value), maxAttribute)], "")
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}
