// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/wrapperapi"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// NotRunError reports that the pod has not started to run the call. The call can be sent to another pod.
type NotRunError struct {
	// Pod is the name of the pod, and Message is the reason.
	Pod, Message string
	// Busy reports that the pod serves, but has no capacity for the call.
	Busy bool
}

func (e *NotRunError) Error() string {
	return fmt.Sprintf("function pod %s does not take the call: %s", e.Pod, e.Message)
}

// GRPCStatus returns Unavailable, because the call can be retried.
func (e *NotRunError) GRPCStatus() *status.Status { return status.New(codes.Unavailable, e.Error()) }

// LostError reports that the connection ended while the pod ran the call. The function may have run.
type LostError struct {
	// Pod is the name of the pod, and Message describes the failure.
	Pod, Message string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("function pod %s went away while it ran the function: %s", e.Pod, e.Message)
}

// GRPCStatus returns Unavailable. The call can be retried only if the function may run twice.
func (e *LostError) GRPCStatus() *status.Status { return status.New(codes.Unavailable, e.Error()) }

// Evaluate sends a call to the pod. When the call begins, and again before Evaluate returns, it calls report with the load of the wrapper
// server, which includes this call and the calls of other clients. The first report comes from another goroutine. Errors: *NotRunError,
// *LostError, the cause of ctx, and any other status of the wrapper server.
func (e *Endpoint) Evaluate(ctx context.Context, image string, list []byte, report func(wrapperapi.Load)) (evaluation.Response, error) {
	e.used.Store(time.Now().UnixNano())
	f := &flight{report: report}
	ctx, f.cancel = context.WithCancelCause(ctx)
	defer f.cancel(nil)
	l, err := e.watchdog.enter(f)
	if err != nil {
		return evaluation.Response{}, &NotRunError{Pod: e.Pod, Message: err.Error()}
	}
	defer e.watchdog.leave(f)
	var header, trailer metadata.MD
	resp, err := l.client.Evaluate(f.in(e.directed(ctx)), &wrapperv1.EvaluateRequest{ResourceList: list, Image: image}, grpc.Header(&header), grpc.Trailer(&trailer))
	load, loaded := wrapperapi.LoadOf(trailer)
	if loaded {
		e.watchdog.heard()
		// The wrapper server no longer counts this call, but the caller holds its lease until Evaluate returns.
		load.Running++
		report(load)
	}
	if err == nil {
		e.watchdog.heard()
		return evaluation.Response{ResourceList: resp.GetResourceList(), Report: resp.GetEvaluation()}, nil
	}
	return evaluation.Response{}, e.failure(ctx, f, err, header, trailer)
}

// httpRefusals are the gRPC codes for the HTTP statuses 401, 403 and 404, which a server without gRPC may send.
var httpRefusals = []codes.Code{codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented}

// failure converts the error of a failed call.
func (e *Endpoint) failure(ctx context.Context, f *flight, err error, header, trailer metadata.MD) error {
	st := status.Convert(err)
	gone := errors.Is(context.Cause(ctx), errGone)
	switch {
	case wrapperapi.Refused(trailer):
		return &NotRunError{Pod: e.Pod, Message: st.Message(), Busy: wrapperapi.Busy(trailer)}
	case gone && !f.begun.Load():
		return &NotRunError{Pod: e.Pod, Message: errGone.Error()}
	case gone:
		return &LostError{Pod: e.Pod, Message: errGone.Error()}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case st.Code() == codes.Unavailable && !f.begun.Load():
		return &NotRunError{Pod: e.Pod, Message: st.Message()}
	case st.Code() == codes.Unavailable || st.Code() == codes.Canceled:
		return &LostError{Pod: e.Pod, Message: st.Message()}
	case len(header) == 0 && len(trailer) == 0 && slices.Contains(httpRefusals, st.Code()):
		// A gRPC server always sends metadata, at least the content type. Something else, such as a network proxy, has answered.
		return &NotRunError{Pod: e.Pod, Message: "what answers at the pod's address is no gRPC server: " + st.Message()}
	case st.Code() == codes.Unimplemented && e.options.Advice != "":
		return fmt.Errorf("function pod %s: %w: %s", e.Pod, err, e.options.Advice)
	}
	return fmt.Errorf("function pod %s: %w", e.Pod, err)
}
