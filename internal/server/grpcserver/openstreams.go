// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

const (
	// maxHealthReaders is the maximum number of health requests that are read at a time.
	maxHealthReaders = 16
	// maxReflections is the maximum number of reflection streams, each with a message of the maximum size.
	maxReflections = 16
	// maxWatches is the maximum number of health watches.
	maxWatches = 256
)

// openStreams counts the streams that no budget limits, and that clients can keep open.
type openStreams struct{ reflections, watches atomic.Int64 }

// receiveStream receives the first messages of streams and rejects streams above the limits.
func (s *Server) receiveStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	switch {
	case info.FullMethod == grpc_health_v1.Health_Watch_FullMethodName:
		handler = limited(handler, &s.openStreams.watches, maxWatches)
		stream = s.healthReceiver.stream(stream)
	case strings.HasPrefix(info.FullMethod, "/grpc.reflection."):
		handler = limited(handler, &s.openStreams.reflections, maxReflections)
		fallthrough
	default:
		stream = s.receiver.stream(stream)
	}
	return handler(srv, stream)
}

// limited wraps a handler with a limit on the number of open streams, which open counts.
func limited(handler grpc.StreamHandler, open *atomic.Int64, limit int64) grpc.StreamHandler {
	return func(srv any, stream grpc.ServerStream) error {
		defer open.Add(-1)
		if open.Add(1) > limit {
			return Busy("too many streams of this method are open: try again, or close some")
		}
		return handler(srv, stream)
	}
}
