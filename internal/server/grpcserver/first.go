// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/services/evaluation"
)

// receiver receives the first message of a call by calling receive. No budget includes the message yet.
type receiver func(ctx context.Context, receive func() error) error

// of wraps the handler of a unary method, whose request is its first message.
func (r receiver) of(handle grpc.MethodHandler) grpc.MethodHandler {
	return func(impl any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		return handle(impl, ctx, func(request any) error {
			return r(ctx, func() error { return decode(request) })
		}, interceptor)
	}
}

// stream returns a stream whose first message is received by r.
func (r receiver) stream(stream grpc.ServerStream) grpc.ServerStream {
	return &firstMessage{ServerStream: stream, receiver: r}
}

// intercept is a stream interceptor that receives first messages with r.
func (r receiver) intercept(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(srv, r.stream(stream))
}

type firstMessage struct {
	grpc.ServerStream
	// receiver is nil after the first message.
	receiver receiver
}

func (f *firstMessage) RecvMsg(m any) error {
	receive := func() error { return f.ServerStream.RecvMsg(m) }
	if first := f.receiver; first != nil {
		f.receiver = nil
		return first(f.Context(), receive)
	}
	return receive()
}

// queueFullStatus returns the status error for a call that could not enter the queue.
func queueFullStatus(err error) error {
	if errors.As(err, new(*evaluation.BusyError)) {
		return Busy("too many calls are waiting to be read: try again")
	}
	return status.FromContextError(err).Err()
}

const (
	// firstMessageTime is the time limit for receiving the first message of a call, plus a second per MiB.
	firstMessageTime = 20 * time.Second
	// shortMessageTime replaces firstMessageTime while many calls wait to be read.
	shortMessageTime = 2 * time.Second
	// maxUnread is the maximum number of calls that wait to be read. Each may hold headers and a window of data.
	maxUnread = 500
)

// queuedReceiver returns a receiver that reads at most readers messages at a time. maxUnread more calls wait in a queue, and further
// calls are rejected. Slow clients are cut off, so that the queue advances. A message has at most size bytes.
func queuedReceiver(readers int, size int64) receiver {
	queues := newPeerQueues(readers, maxUnread)
	transfer := TransferTime(size) - TransferTime(0)
	return func(ctx context.Context, receive func() error) error {
		leave, err := queues.enter(ctx)
		if err != nil {
			return queueFullStatus(err)
		}
		defer leave()
		within := firstMessageTime + transfer
		if queues.crowded() {
			within = shortMessageTime + transfer
		}
		inTime := CutOff(ctx, within)
		err = receive()
		if !inTime() {
			return TooSlow("the first message did not arrive", within)
		}
		return err
	}
}

// evictingReceiver returns a receiver for calls whose first message arrives with their headers, such as health probes. If more than
// readers calls wait for their message, the oldest one is cut off, so that slow clients cannot block probes.
func evictingReceiver(readers int) receiver {
	var mu sync.Mutex
	unread := list.New()
	return func(ctx context.Context, receive func() error) error {
		inTime := CutOff(ctx, shortMessageTime)
		mu.Lock()
		own := unread.PushBack(func() { CutOff(ctx, 0) })
		if unread.Len() > readers {
			unread.Remove(unread.Front()).(func())() //nolint:forcetypeassert // the list holds only func()
		}
		mu.Unlock()
		err := receive()
		mu.Lock()
		unread.Remove(own)
		mu.Unlock()
		if !inTime() {
			return TooSlow("the first message did not arrive", shortMessageTime)
		}
		return err
	}
}
