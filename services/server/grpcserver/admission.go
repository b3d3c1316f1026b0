// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/krmfn/krmfn/services/evaluation"
)

// What a call makes the server hold before it is admitted is bounded for each connection: streamWindow bytes of each of
// maxStreams calls, and the headers. The number of connections has no bound; neither has the time that an admitted client takes to
// send its request or to read the answer, except by the client's own deadline and its pings.
const (
	// streamWindow is how much of a request clients may send before it is read. It is the least that gRPC knows. A message that is
	// read has a window of its own length, so that it comes in one piece.
	streamWindow = 64 << 10
	// connectionWindow is how much may be under way in one connection.
	connectionWindow = 4 << 20
	// maxStreams is how many calls of one connection may be there at once. Clients wait with further ones.
	maxStreams = 2000
	// callOverhead is about what a call costs beside its messages: goroutines, headers, and the window.
	callOverhead = 32 << 10
)

// RegisterService registers a service. With a budget, its unary methods are handled as streams: clients see no difference, and a
// call can wait, or be refused, before its request is read. Otherwise gRPC reads requests first, however many there are.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	if s.budget != nil {
		own := *desc
		own.Methods, own.Streams = nil, slices.Clone(desc.Streams)
		for _, m := range desc.Methods {
			own.Streams = append(own.Streams, grpc.StreamDesc{StreamName: m.MethodName, Handler: s.admitted(m)})
		}
		desc = &own
	}
	s.Server.RegisterService(desc, impl)
}

// admitted handles calls of a unary method: each reserves as much as a request may be, reads its own, and keeps what it really is
// until the answer is sent.
func (s *Server) admitted(m grpc.MethodDesc) grpc.StreamHandler {
	return func(impl any, stream grpc.ServerStream) error {
		reservation, err := s.budget.Reserve(stream.Context(), int64(s.maxMessageSize)+callOverhead)
		if err != nil {
			return AdmissionStatus(err)
		}
		defer reservation.Release()
		read := func(request any) error {
			if err := stream.RecvMsg(request); err != nil {
				return err
			}
			if message, ok := request.(proto.Message); ok {
				reservation.Keep(int64(proto.Size(message)) + callOverhead)
			}
			return nil
		}
		response, err := m.Handler(impl, stream.Context(), read, nil)
		if err != nil {
			return err
		}
		return stream.SendMsg(response)
	}
}

// AdmissionStatus returns the status error for an error of a budget.
func AdmissionStatus(err error) error {
	switch {
	case errors.As(err, new(*evaluation.ExhaustedError)):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, "the call ended while it waited for memory: "+err.Error())
	}
	return status.Error(codes.Canceled, "the call ended while it waited for memory: "+err.Error())
}
