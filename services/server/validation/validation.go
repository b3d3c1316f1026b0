// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package validation validates gRPC requests by the protovalidate rules in their proto files.
package validation

import (
	"fmt"

	"buf.build/go/protovalidate"
	validator "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Interceptors returns the interceptors that reject invalid requests with InvalidArgument and a message that names the field.
// It compiles the rules of the given requests, so that the first call does not have to.
func Interceptors(requests ...proto.Message) ([]grpc.ServerOption, error) {
	v, err := protovalidate.New(protovalidate.WithMessages(requests...))
	if err != nil {
		return nil, fmt.Errorf("compile the validation rules of requests: %w", err)
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(validator.UnaryServerInterceptor(v)),
		grpc.ChainStreamInterceptor(validator.StreamServerInterceptor(v)),
	}, nil
}
