// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package validation validates gRPC requests by the protovalidate rules in their proto files. It implements only the rules that
// krmfn's requests use: protovalidate itself links CEL, which adds 6 MB to each server. Tests compare the two.
package validation

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Interceptors returns the interceptors that reject requests which violate the rules of a proto file, with InvalidArgument and a
// message that names the field. Messages of other files have no rules. A rule that this package does not implement is an error.
func Interceptors(file protoreflect.FileDescriptor) ([]grpc.ServerOption, error) {
	v := validator{}
	for i := range file.Messages().Len() {
		if err := v.add(file.Messages().Get(i)); err != nil {
			return nil, fmt.Errorf("compile the validation rules of %s: %w", file.Path(), err)
		}
	}
	unary := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if err := v.validate(req); err != nil {
			return nil, err
		}
		return handle(ctx, req)
	}
	stream := func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		return handle(srv, validatedStream{s, v})
	}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(unary), grpc.ChainStreamInterceptor(stream)}, nil
}

// validatedStream validates the messages that a stream receives.
type validatedStream struct {
	grpc.ServerStream

	validator validator
}

// RecvMsg receives a message, and fails if it violates a rule.
func (s validatedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return s.validator.validate(m)
}

// validate returns the first violation of a message, as the error of a call.
func (v validator) validate(m any) error {
	message, ok := m.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "validate a request: %T is not a protobuf message", m)
	}
	if violation := v.violation(message.ProtoReflect()); violation != "" {
		return status.Error(codes.InvalidArgument, "validation error: "+violation)
	}
	return nil
}
