// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"log/slog"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

const (
	// requestID is the metadata key with a caller's request ID.
	requestID = "x-request-id"
	// longestID is the maximum number of bytes of the ID that are logged.
	longestID = 128
)

// Logger returns a logger that adds two attributes to log lines with a call's context: caller, the client's address, and
// request_id, the call's metadata x-request-id.
func Logger(log *slog.Logger) *slog.Logger { return slog.New(callHandler{log.Handler()}) }

type callHandler struct{ slog.Handler }

func (h callHandler) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	if caller, ok := peer.FromContext(ctx); ok && caller.Addr != nil {
		r.AddAttrs(slog.String("caller", caller.Addr.String()))
	}
	if id := metadata.ValueFromIncomingContext(ctx, requestID); len(id) > 0 {
		r.AddAttrs(slog.String("request_id", id[0][:min(len(id[0]), longestID)]))
	}
	return h.Handler.Handle(ctx, r)
}

func (h callHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return callHandler{h.Handler.WithAttrs(attrs)}
}

func (h callHandler) WithGroup(name string) slog.Handler {
	return callHandler{h.Handler.WithGroup(name)}
}
