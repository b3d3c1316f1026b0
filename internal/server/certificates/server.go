// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/credentials"
)

// minLogInterval is the minimum time between two log lines about rejected clients, because unauthenticated clients can cause such lines.
const minLogInterval = time.Second

// Server secures the connections of a server. Safe for concurrent use.
type Server struct {
	source     *source
	minVersion uint16
	optional   bool
	log        *slog.Logger
	logLimit   rate.Sometimes
	refused    metric.Int64Counter
}

// NewServer reads the files. If optional is true, gRPC clients need no certificate, because they can authenticate in another way. An
// error names the invalid file.
func NewServer(f ServerFlags, optional bool, log *slog.Logger) (*Server, error) {
	source, err := newSource(f.Files, log)
	if err != nil {
		return nil, err
	}
	return &Server{
		source: source, minVersion: f.minVersion(), optional: optional, log: log,
		logLimit: rate.Sometimes{First: 1, Interval: minLogInterval},
	}, nil
}

// Measure registers the metrics of the server. It must be called before the server serves:
//
//   - krm_tls_connections_refused: failed TLS handshakes, whichever side rejected the other
//   - krm_tls_certificate_expiry_timestamp_seconds: when the server's certificate expires, in seconds since the epoch
//
// reloaded is called after each read of the files. changed reports whether they have changed, and err is the reason why they are invalid.
func (s *Server) Measure(provider metric.MeterProvider, reloaded func(changed bool, err error)) error {
	s.source.mu.Lock() // the metrics server may already use the source
	s.source.reloaded = reloaded
	s.source.mu.Unlock()
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/certificates")
	var err error
	s.refused, err = meter.Int64Counter("krm_tls_connections_refused", metric.WithDescription("Failed TLS handshakes."))
	if err != nil {
		return err
	}
	_, err = meter.Int64ObservableGauge("krm_tls_certificate_expiry_timestamp_seconds",
		metric.WithDescription("When the server's certificate expires, in seconds since the epoch."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(s.source.current().certificate.Leaf.NotAfter.Unix())
			return nil
		}))
	return err
}

// Config returns the configuration of a server that requires client certificates if the files have authorities for them. protocols are
// ALPN protocols, such as "http/1.1". Each new connection uses the current content of the files.
func (s *Server) Config(protocols ...string) *tls.Config {
	return s.config(tls.RequireAndVerifyClientCert, protocols...)
}

// config returns the configuration of a server. auth applies if the files have authorities for client certificates.
func (s *Server) config(auth tls.ClientAuthType, protocols ...string) *tls.Config {
	one := func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := s.source.current()
		config := &tls.Config{
			MinVersion: s.minVersion, NextProtos: protocols, Certificates: []tls.Certificate{*now.certificate},
			// Resumption would skip the check of the client certificate with the current authorities.
			SessionTicketsDisabled: true,
		}
		if now.authorities != nil {
			config.ClientCAs, config.ClientAuth = now.authorities, auth
		}
		return config, nil
	}
	return &tls.Config{MinVersion: s.minVersion, NextProtos: protocols, GetConfigForClient: one}
}

// Credentials returns the credentials of a gRPC server. They log and count failed handshakes.
func (s *Server) Credentials() credentials.TransportCredentials {
	auth := tls.RequireAndVerifyClientCert
	if s.optional {
		auth = tls.VerifyClientCertIfGiven
	}
	return serverCredentials{credentials.NewTLS(s.config(auth, "h2")), s}
}

type serverCredentials struct {
	credentials.TransportCredentials
	server *Server
}

func (c serverCredentials) Clone() credentials.TransportCredentials { return c }

func (c serverCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := c.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		err = explain(err, "client", "server certificate", "--client-ca-file")
		c.server.refuse(conn.RemoteAddr(), err)
	}
	return secured, info, err
}

func (s *Server) refuse(client net.Addr, err error) {
	// TCP probes connect and close the connection without sending anything.
	if errors.Is(err, io.EOF) {
		return
	}
	if s.refused != nil {
		s.refused.Add(context.Background(), 1) //nolint:forbidigo // a connection has no context
	}
	s.logLimit.Do(func() { s.log.Warn("TLS handshake failed", "client", client.String(), "err", err) })
}
