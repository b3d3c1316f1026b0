// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/wrapperapi"
	"github.com/krmfn/krmfn/services/evaluation"
)

// interceptor intercepts the calls of all services, including health. It rejects requests for another pod or function, and adds this
// server's load to all other responses.
type interceptor struct {
	self wrapperapi.Target
	gate *middleware.Gate
}

// newInterceptor reads the identity of the pod and its function from the environment. Without it, requests for any target are accepted.
func newInterceptor(environ []string, gate *middleware.Gate) *interceptor {
	i := &interceptor{gate: gate}
	for _, kv := range environ {
		switch key, value, _ := strings.Cut(kv, "="); key {
		case wrapperapi.PodUIDVariable:
			i.self.PodUID = value
		case wrapperapi.FunctionVariable:
			i.self.Function = value
		}
	}
	return i
}

func (i *interceptor) options() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(i.unary), grpc.ChainStreamInterceptor(i.stream)}
}

func (i *interceptor) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	// SetTrailer fails only outside of a call.
	if err := i.misdirected(ctx); err != nil {
		_ = grpc.SetTrailer(ctx, wrapperapi.Misdirection())
		return nil, err
	}
	resp, err := handler(ctx, req)
	_ = grpc.SetTrailer(ctx, i.load())
	return resp, err
}

func (i *interceptor) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := i.misdirected(ss.Context()); err != nil {
		ss.SetTrailer(wrapperapi.Misdirection())
		return err
	}
	err := handler(srv, ss)
	ss.SetTrailer(i.load())
	return err
}

// misdirected returns an error if the request is for another pod or function.
func (i *interceptor) misdirected(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	meant := wrapperapi.TargetOf(md)
	if i.self.Matches(meant) {
		return nil
	}
	return status.Errorf(codes.Unavailable, "this is pod %s of function %s, but the request is for pod %s of function %s, which had this address before",
		i.self.PodUID, i.self.Function, meant.PodUID, meant.Function)
}

func (i *interceptor) load() metadata.MD {
	running, waiting := i.gate.Load()
	return wrapperapi.Load{Running: running, Waiting: waiting}.Metadata()
}

// announceStart returns an evaluator that sends the caller a header when its call starts. If the connection breaks before, the caller
// sends the call to another pod.
func (i *interceptor) announceStart(e evaluation.Evaluator) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		// SendHeader fails only outside of a call.
		_ = grpc.SendHeader(ctx, metadata.Join(wrapperapi.Begun(), i.load()))
		return e.Evaluate(ctx, req)
	})
}
