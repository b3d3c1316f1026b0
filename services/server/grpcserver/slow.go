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

// TransferTime returns how long so many bytes may be under way: a minute, in which a connection recovers from a loss or shows that it
// will not, and a second for each MiB. Who is slower keeps memory, or a place, from all others.
func TransferTime(bytes int64) time.Duration {
	return time.Minute + time.Duration(bytes>>20)*time.Second
}

// cutKey is the key of what cuts a call off.
type cutKey struct{}

// errSlow is the cause of the end of a call that was cut off.
var errSlow = errors.New("the client is too slow")

// callContext is the context of a call that can be cut off. gRPC answers with its error where it can read or write no more.
type callContext struct{ context.Context } //nolint:containedctx // it is one

// Err says of a call that was cut off that its time is over.
func (c callContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), errSlow) {
		return context.DeadlineExceeded
	}
	return err
}

// cuttable is a tap: gRPC reads and writes the messages of a call until the context ends that it returns.
func cuttable(ctx context.Context, _ *tap.Info) (context.Context, error) {
	ctx, cut := context.WithCancelCause(ctx)
	return callContext{context.WithValue(ctx, cutKey{}, cut)}, nil
}

// CutOff ends a call after a time, as DeadlineExceeded: what it reads or writes fails then. stop keeps it from that, and returns false
// if it is too late. Only calls of a Server can be cut off.
func CutOff(ctx context.Context, after time.Duration) (stop func() bool) {
	cut, ok := ctx.Value(cutKey{}).(context.CancelCauseFunc)
	if !ok {
		return func() bool { return true }
	}
	return time.AfterFunc(after, func() { cut(errSlow) }).Stop
}

// TooSlow returns the status error for a call that was cut off, for those who look at calls here: the client has its answer.
func TooSlow(what string, after time.Duration) error {
	return status.Errorf(codes.DeadlineExceeded, "%s within %s: check the connection, and that the client is not busy with something else", what, after)
}
