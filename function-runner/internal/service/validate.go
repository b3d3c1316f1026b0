// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"fmt"

	"buf.build/go/protovalidate"
	validator "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/protovalidate"
	"google.golang.org/grpc"

	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

// Validation returns the interceptors that refuse requests which break the rules of their proto files. Such a request
// gets InvalidArgument, with a message that names the field.
func Validation() ([]grpc.ServerOption, error) {
	// The rules are compiled here, not in the first call that needs them.
	v, err := protovalidate.New(protovalidate.WithMessages(
		&evaluatorv1.EvaluateRequest{}, &evaluatorv1.EvaluateStreamRequest{}, &evaluatorv1.PrepareRequest{}, &evaluatorv1.ListFunctionsRequest{},
	))
	if err != nil {
		return nil, fmt.Errorf("compile the validation rules of requests: %w", err)
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(validator.UnaryServerInterceptor(v)),
		grpc.ChainStreamInterceptor(validator.StreamServerInterceptor(v)),
	}, nil
}
