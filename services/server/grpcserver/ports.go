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

	"github.com/krmfn/krmfn/services/server/connections"
)

// portLimits limit what clients can make a port of a server hold, whether they may call or not.
type portLimits struct {
	// connections is the maximum number of connections, perPeer that of one address, and streams the maximum number of calls at a time
	// of one connection.
	connections, perPeer int
	streams              uint32
	// headers is the maximum size in bytes of the metadata of a call.
	headers uint32
}

var (
	// mainPort is for calls. Its clients are replicas of Porch or of function runners, which have one connection each,
	// people, and probes.
	mainPort = portLimits{connections: 128, perPeer: 64, streams: 1000, headers: 16 << 10}
	// healthPort is for health alone. Its clients are kubelets.
	healthPort = portLimits{connections: 32, perPeer: 8, streams: 16, headers: 4 << 10}
)

const (
	// connectTime is the maximum duration of the handshakes of TLS and HTTP/2.
	connectTime = 10 * time.Second
	// probeIdleTime is how long a connection for health may be idle.
	probeIdleTime = time.Minute
)

// options are for a server whose connections are secured by secure.
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
