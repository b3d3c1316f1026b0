// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// forwarding are the options of a client whose calls stay in the trace of the call that they are made for, although this process
// exports nothing of it: what it calls may export, and logs the trace.
func forwarding() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoke(forward(ctx), method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return stream(forward(ctx), desc, cc, method, opts...)
		}),
	}
}

// forward adds the caller's trace context to the metadata that is sent.
func forward(ctx context.Context) context.Context {
	from := incoming(ctx)
	var pairs []string
	for _, key := range (propagation.TraceContext{}).Fields() {
		if value := from.Get(key); value != "" {
			pairs = append(pairs, key, value)
		}
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// incoming is the metadata of the call that a context belongs to.
func incoming(ctx context.Context) propagation.TextMapCarrier { return metadataCarrier{ctx} }

type metadataCarrier struct{ ctx context.Context } //nolint:containedctx // it is read in place of the context

// Get returns a value if there is one alone: of two parents none is.
func (c metadataCarrier) Get(key string) string {
	if values := metadata.ValueFromIncomingContext(c.ctx, key); len(values) == 1 {
		return values[0]
	}
	return ""
}

func (metadataCarrier) Set(string, string) {}

func (metadataCarrier) Keys() []string { return nil }
