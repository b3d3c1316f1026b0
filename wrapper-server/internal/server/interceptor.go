// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

// front intercepts the calls of all services, including health. It rejects requests for another pod or function, and adds this server's
// load to all other responses.
type front struct {
	self wrapperapi.Target
	gate *evaluation.Gate
}

// newFront reads the identity of the pod and its function from the environment. Without it, requests for any target are accepted.
func newFront(environ []string, gate *evaluation.Gate) *front {
	f := &front{gate: gate}
	for _, kv := range environ {
		switch key, value, _ := strings.Cut(kv, "="); key {
		case wrapperapi.PodUIDVariable:
			f.self.PodUID = value
		case wrapperapi.FunctionVariable:
			f.self.Function = value
		}
	}
	return f
}

func (f *front) options() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(f.unary), grpc.ChainStreamInterceptor(f.stream)}
}

func (f *front) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	// SetTrailer fails only outside of a call.
	if err := f.misdirected(ctx); err != nil {
		_ = grpc.SetTrailer(ctx, wrapperapi.Misdirection())
		return nil, err
	}
	resp, err := handler(ctx, req)
	_ = grpc.SetTrailer(ctx, f.load())
	return resp, err
}

func (f *front) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := f.misdirected(ss.Context()); err != nil {
		ss.SetTrailer(wrapperapi.Misdirection())
		return err
	}
	err := handler(srv, ss)
	ss.SetTrailer(f.load())
	return err
}

// misdirected returns an error if the request is for another pod or function.
func (f *front) misdirected(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	meant := wrapperapi.TargetOf(md)
	if f.self.Matches(meant) {
		return nil
	}
	return status.Errorf(codes.Unavailable, "this is pod %s of function %s, but the request is for pod %s of function %s, which had this address before",
		f.self.PodUID, f.self.Function, meant.PodUID, meant.Function)
}

func (f *front) load() metadata.MD {
	running, waiting := f.gate.Load()
	return wrapperapi.Load{Running: running, Waiting: waiting}.Metadata()
}

// announced sends the caller a header when its call starts. If the connection breaks before, the caller sends the call to another pod.
func (f *front) announced(e evaluation.Evaluator) evaluation.Evaluator {
	return evaluation.Func(func(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
		// SendHeader fails only outside of a call.
		_ = grpc.SendHeader(ctx, metadata.Join(wrapperapi.Begun(), f.load()))
		return e.Evaluate(ctx, req)
	})
}
