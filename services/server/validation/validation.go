// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package validation holds gRPC requests to the rules of their proto files, which are protovalidate's.
package validation

import (
	"fmt"

	"buf.build/go/protovalidate"
	validator "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Interceptors returns the interceptors that refuse requests which break the rules of their proto files. Such a request
// gets InvalidArgument, with a message that names the field. The rules of the requests given are compiled here, not in the
// first call that needs them.
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
