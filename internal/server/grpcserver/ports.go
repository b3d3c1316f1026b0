// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/krmfn/krmfn/internal/server/connections"
)

// portLimits limit the resources that clients of a port can use, authorised or not.
type portLimits struct {
	// connections is the maximum number of connections, perPeer the maximum from one address. streams is the maximum number of
	// concurrent calls per connection.
	connections, perPeer int
	streams              uint32
	// headers is the maximum size in bytes of a call's metadata.
	headers uint32
}

var (
	// mainPort is for calls. Its clients are people, probes, and replicas of Porch or function runners, which have one
	// connection each.
	mainPort = portLimits{connections: 128, perPeer: 64, streams: 1000, headers: 16 << 10}
	// healthPort serves only the health service. Its clients are kubelets.
	healthPort = portLimits{connections: 32, perPeer: 8, streams: 16, headers: 4 << 10}
)

const (
	// connectTime is the maximum duration of the TLS and HTTP/2 handshakes.
	connectTime = 10 * time.Second
	// probeIdleTime is the maximum idle time of a connection to the health port.
	probeIdleTime = time.Minute
)

// options returns the options for a server on the port, with the given credentials.
func (p portLimits) options(secure credentials.TransportCredentials, pings keepalive.ServerParameters) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(secure),
		grpc.MaxHeaderListSize(p.headers),
		grpc.MaxConcurrentStreams(p.streams),
		grpc.ConnectionTimeout(connectTime),
		grpc.WaitForHandlers(true),
		grpc.KeepaliveParams(pings),
		grpc.InTapHandle(cuttable),
	}
}

// limit limits the connections of a listener.
func (p portLimits) limit(listener net.Listener, log *slog.Logger) net.Listener {
	return connections.Limit(listener, p.connections, p.perPeer, log)
}
