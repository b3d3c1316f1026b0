// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// forwarding returns the dial options of a process that does not export traces. They copy the trace context of the call being served to
// outgoing calls, because the called server may export the trace and logs its ID.
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

// forward copies the caller's trace context to the outgoing metadata.
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

// incoming returns the metadata of the call that is being served with a context.
func incoming(ctx context.Context) propagation.TextMapCarrier { return metadataCarrier{ctx} }

type metadataCarrier struct{ ctx context.Context } //nolint:containedctx // wraps the metadata of a context

// Get returns the value of a key, or "" if the key has several values, because a call cannot have two parents.
func (c metadataCarrier) Get(key string) string {
	if values := metadata.ValueFromIncomingContext(c.ctx, key); len(values) == 1 {
		return values[0]
	}
	return ""
}

func (metadataCarrier) Set(string, string) {}

func (metadataCarrier) Keys() []string { return nil }
