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

	"github.com/krmfn/krmfn/services/evaluation"
)

// What calls make the server hold before they are admitted is bounded by numbers: of connections and of the bytes of headers (see
// portLimits), and of calls that wait to be read, each with a window of streamWindow bytes. The answer of a unary call is not counted
// while its client reads it, because the call has given back its part of the budget. A client that answers pings and keeps its HTTP/2
// window shut holds the answer until the call's deadline, or until its connection is older than connectionAge and connectionGrace. A
// server with KeepConnections has no such limit.
const (
	// streamWindow is how much of a request clients may send before it is read, the least that gRPC knows. A longer message gets a
	// window of its own length as soon as it is read, so that it comes in one piece.
	streamWindow = 64 << 10
	// connectionWindow is how much may be under way in one connection.
	connectionWindow = 4 << 20
	// callOverhead is about what a call costs beside its messages: goroutines, headers and the window.
	callOverhead = 32 << 10
)

// admission lets calls in by the bytes of their requests. The size of a request is known only when it has been read, so that few
// are read at once, and those that have been read wait for their part of the budget before the next ones are.
type admission struct {
	budget  *evaluation.Budget
	reading *turns
	weigh   func(proto.Message) int64
	// within is how long it may take to read a request.
	within time.Duration
}

// newAdmission has requests read that take up half as much as the budget besides, but at least four: one that comes slowly must not
// keep all others from being read. Those that come slower than TransferTime are cut off.
func newAdmission(o Options) *admission {
	if o.Budget == nil {
		return nil
	}
	weigh := o.Weigh
	if weigh == nil {
		weigh = func(proto.Message) int64 { return 0 }
	}
	return &admission{o.Budget, newTurns(readers(o), o.Budget.MaxWaiting()), weigh, TransferTime(int64(o.MaxMessageSize))}
}

// readers returns how many messages may be read at a time that are not part of the budget: few, because each may have the maximum size.
func readers(o Options) int {
	const least = 4
	if o.Budget == nil {
		return least
	}
	return max(int(o.Budget.Total()/2/int64(o.MaxMessageSize)), least)
}

// RegisterService registers a service. The calls of its unary methods wait for the budget, or are refused, before their requests are
// read.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	own := *desc
	own.Methods = slices.Clone(desc.Methods)
	for i, m := range own.Methods {
		if s.permit != nil {
			own.Methods[i].Handler = s.permitted(m.Handler, "/"+desc.ServiceName+"/"+m.MethodName)
		}
		// Who may not call takes no place from those who may.
		if s.admission != nil {
			own.Methods[i].Handler = s.admission.admitted(own.Methods[i].Handler)
		} else {
			own.Methods[i].Handler = s.receiver.of(own.Methods[i].Handler)
		}
	}
	desc = &own
	s.Server.RegisterService(desc, impl)
}

// admitted handles the calls of a unary method. The handler reads the request by calling decode.
func (a *admission) admitted(handle grpc.MethodHandler) grpc.MethodHandler {
	return func(impl any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		return handle(impl, ctx, func(request any) error { return a.read(ctx, request, decode) }, interceptor)
	}
}

// read reads a request and reserves what it takes until the call has been answered, which ends ctx.
func (a *admission) read(ctx context.Context, request any, decode func(any) error) error {
	leave, err := a.reading.enter(ctx)
	if err != nil {
		return a.status(err)
	}
	defer leave()
	inTime := CutOff(ctx, a.within)
	err = decode(request)
	if !inTime() {
		return TooSlow("the request did not arrive", a.within)
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

// AdmissionStatus returns the status error for an error of a budget.
func AdmissionStatus(err error) error {
	switch {
	case errors.As(err, new(*evaluation.ExhaustedError)):
		return Busy(err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Errorf(codes.DeadlineExceeded, "the call ended while it waited for memory: %v", err)
	}
	return status.Errorf(codes.Canceled, "the call ended while it waited for memory: %v", err)
}

// retryAfter is when a client that has been refused may call again.
const retryAfter = time.Second

// Busy returns the status error for a call that is refused because of other calls. The detail google.rpc.RetryInfo tells it apart
// from one that is over a limit by itself, which has the same code and is refused again.
func Busy(message string) error {
	refused := status.New(codes.ResourceExhausted, message)
	if detailed, err := refused.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)}); err == nil {
		refused = detailed
	}
	return refused.Err()
}
