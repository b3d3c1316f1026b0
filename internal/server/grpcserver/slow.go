// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// TransferTime returns the time limit for transferring a number of bytes: a minute, in which a connection recovers from packet
// loss or proves to be broken, plus a second per MiB. Slower clients would keep memory or readers from other clients.
func TransferTime(bytes int64) time.Duration {
	return time.Minute + time.Duration(bytes>>20)*time.Second
}

// cutKey is the context key of the function that cuts off a call.
type cutKey struct{}

// errSlow is the cancellation cause of a call that was cut off.
var errSlow = errors.New("the client is too slow")

// callContext is the context of a call that can be cut off. gRPC returns its error from reads and writes.
type callContext struct{ context.Context } //nolint:containedctx // wraps a context

// Err returns DeadlineExceeded for a call that was cut off.
func (c callContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), errSlow) {
		return context.DeadlineExceeded
	}
	return err
}

// cuttable is a tap handle. gRPC uses the returned context for reads and writes of the call.
func cuttable(ctx context.Context, _ *tap.Info) (context.Context, error) {
	ctx, cut := context.WithCancelCause(ctx)
	return callContext{context.WithValue(ctx, cutKey{}, cut)}, nil
}

// CutOff ends a call after a time with DeadlineExceeded, so that its reads and writes fail. stop prevents this and returns
// false if it is too late. CutOff works only for calls of a Server.
func CutOff(ctx context.Context, after time.Duration) (stop func() bool) {
	cut, ok := ctx.Value(cutKey{}).(context.CancelCauseFunc)
	if !ok {
		return func() bool { return true }
	}
	return time.AfterFunc(after, func() { cut(errSlow) }).Stop
}

// TooSlow returns the status error for a call that was cut off, for logs and metrics of the server. gRPC has already sent the
// client a status.
func TooSlow(what string, after time.Duration) error {
	return status.Errorf(codes.DeadlineExceeded, "%s within %s: check the connection, and that the client is not busy with something else", what, after)
}
