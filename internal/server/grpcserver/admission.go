// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Memory that calls use before they are admitted is limited by counts: of connections and header bytes (see portLimits), and of
// calls whose request has not been read, each with a window of streamWindow bytes. The response of a unary call is not counted
// while the client reads it, because the call has already released its reservation. A client that answers pings but does not
// open its HTTP/2 window keeps the response in memory until the call's deadline, or until its connection is older than
// connectionAge plus connectionGrace. With KeepConnections, the connection's age is not limited.
const (
	// streamWindow is the number of bytes that a client may send before the request is read; gRPC's minimum. When the server
	// starts to read a longer message, gRPC enlarges the window to the message's length.
	streamWindow = 64 << 10
	// connectionWindow is the maximum number of bytes in flight per connection.
	connectionWindow = 4 << 20
	// callOverhead is the approximate memory of a call in bytes besides its messages: goroutines, headers and the window.
	callOverhead = 32 << 10
)

// admission admits calls by the size of their requests. The size is known only after a request has been read. Therefore few
// requests are read at a time, and those that have been read wait for their reservation before the next ones are read.
type admission struct {
	budget  *middleware.Budget
	reading *peerQueues
	weigh   func(proto.Message) int64
	// readTimeout is the maximum duration of reading a request.
	readTimeout time.Duration
}

// newAdmission limits the requests being read to half of the budget in addition to the budget, but at least four, so that one
// slow request does not block all others. Requests that take longer than TransferTime are cut off.
func newAdmission(o Options) *admission {
	if o.Budget == nil {
		return nil
	}
	weigh := o.Weigh
	if weigh == nil {
		weigh = func(proto.Message) int64 { return 0 }
	}
	return &admission{o.Budget, newPeerQueues(readers(o), o.Budget.MaxWaiting()), weigh, TransferTime(int64(o.MaxMessageSize))}
}

// readers returns the maximum number of messages that are read at a time outside the budget. It is small, because each may have
// the maximum size.
func readers(o Options) int {
	const least = 4
	if o.Budget == nil {
		return least
	}
	return max(int(o.Budget.Total()/2/int64(o.MaxMessageSize)), least)
}

// RegisterService registers a service. Calls of its unary methods are authorised and wait for the budget before their requests
// are read.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	own := *desc
	own.Methods = slices.Clone(desc.Methods)
	for i, m := range own.Methods {
		if s.permit != nil {
			own.Methods[i].Handler = s.permitted(m.Handler, "/"+desc.ServiceName+"/"+m.MethodName)
		}
		// Authorize first, so that unauthorised calls do not take up readers.
		if s.admission != nil {
			own.Methods[i].Handler = s.admission.admitted(own.Methods[i].Handler)
		} else {
			own.Methods[i].Handler = s.receiver.of(own.Methods[i].Handler)
		}
	}
	desc = &own
	s.Server.RegisterService(desc, impl)
}

// admitted wraps the handler of a unary method with admission. The handler reads the request by calling decode.
func (a *admission) admitted(handle grpc.MethodHandler) grpc.MethodHandler {
	return func(impl any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		return handle(impl, ctx, func(request any) error { return a.read(ctx, request, decode) }, interceptor)
	}
}

// read reads a request and reserves its memory until ctx ends, which is when the call has been answered.
func (a *admission) read(ctx context.Context, request any, decode func(any) error) error {
	leave, err := a.reading.enter(ctx)
	if err != nil {
		return a.status(err)
	}
	defer leave()
	inTime := CutOff(ctx, a.readTimeout)
	err = decode(request)
	if !inTime() {
		return TooSlow("the request did not arrive", a.readTimeout)
	}
	if err != nil {
		return err
	}
	size := int64(callOverhead)
	if message, ok := request.(proto.Message); ok {
		size += max(int64(proto.Size(message)), a.weigh(message))
	}
	reservation, err := a.budget.Reserve(ctx, size)
	if err != nil {
		return a.status(err)
	}
	context.AfterFunc(ctx, reservation.Release)
	return nil
}

func (a *admission) status(err error) error {
	if busy, ok := errors.AsType[*evaluation.BusyError](err); ok {
		err = &evaluation.ExhaustedError{Total: a.budget.Total(), Waiting: busy.Waiting}
	}
	return AdmissionStatus(err)
}

// AdmissionStatus converts the error of a budget to a status error.
func AdmissionStatus(err error) error {
	switch {
	case errors.As(err, new(*evaluation.ExhaustedError)):
		return Busy(err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Errorf(codes.DeadlineExceeded, "the deadline expired while the call waited for memory: %v", err)
	}
	return status.Errorf(codes.Canceled, "the call was cancelled while it waited for memory: %v", err)
}

// retryAfter is the delay after which a rejected client should try again.
const retryAfter = time.Second

// Busy returns the status error for a call that is rejected because of other calls. The detail google.rpc.RetryInfo
// distinguishes it from a call that exceeds a limit by itself, which has the same code and must not be retried.
func Busy(message string) error {
	refused := status.New(codes.ResourceExhausted, message)
	if detailed, err := refused.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)}); err == nil {
		refused = detailed
	}
	return refused.Err()
}
