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

// logPause is the least time between two log lines about clients that are refused: anybody can connect.
const logPause = time.Second

// Server is the certificate of a server, and what it asks of clients. It may be used by any number of goroutines at once.
type Server struct {
	source     *source
	minVersion uint16
	optional   bool
	log        *slog.Logger
	seldom     rate.Sometimes
	refused    metric.Int64Counter
}

// NewServer reads the files. With optional, a gRPC client may do without a certificate, because something else tells who it is.
// Errors name the file that cannot be used.
func NewServer(f ServerFlags, optional bool, log *slog.Logger) (*Server, error) {
	source, err := newSource(f.Files, log)
	if err != nil {
		return nil, err
	}
	return &Server{
		source: source, minVersion: f.minVersion(), optional: optional, log: log,
		seldom: rate.Sometimes{First: 1, Interval: logPause},
	}, nil
}

// Measure makes metrics of the server, before it serves:
//
//   - krm_tls_connections_refused: connections that ended before they were secured, whichever side refused the other
//   - krm_tls_certificate_expiry_timestamp_seconds: when the server's certificate expires, in seconds since the epoch
//
// Each time that the files have been read, reloaded is told whether they have changed, or why they cannot be used.
func (s *Server) Measure(provider metric.MeterProvider, reloaded func(changed bool, err error)) error {
	s.source.mu.Lock() // metrics may be served already
	s.source.reloaded = reloaded
	s.source.mu.Unlock()
	meter := provider.Meter("github.com/krmfn/krmfn/internal/server/certificates")
	var err error
	s.refused, err = meter.Int64Counter("krm_tls_connections_refused", metric.WithDescription("Connections that ended before they were secured."))
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

// Config returns the configuration of a server of some protocols, such as "http/1.1", that identifies clients by certificates only. Each
// connection gets the certificates that the files have at that time.
func (s *Server) Config(protocols ...string) *tls.Config {
	return s.config(tls.RequireAndVerifyClientCert, protocols...)
}

// config returns the configuration of a server that checks client certificates as auth says, if the files have authorities for them.
func (s *Server) config(auth tls.ClientAuthType, protocols ...string) *tls.Config {
	one := func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := s.source.current()
		config := &tls.Config{
			MinVersion: s.minVersion, NextProtos: protocols, Certificates: []tls.Certificate{*now.certificate},
			// A resumed session would keep the authorities of its first connection.
			SessionTicketsDisabled: true,
		}
		if now.authorities != nil {
			config.ClientCAs, config.ClientAuth = now.authorities, auth
		}
		return config, nil
	}
	return &tls.Config{MinVersion: s.minVersion, NextProtos: protocols, GetConfigForClient: one}
}

// Credentials returns what secures a gRPC server. Connections that are refused are logged, and counted.
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
		err = explain(err, "client", "--client-ca-file")
		c.server.refuse(conn.RemoteAddr(), err)
	}
	return secured, info, err
}

func (s *Server) refuse(client net.Addr, err error) {
	// One that connects and says nothing looks whether the port is open.
	if errors.Is(err, io.EOF) {
		return
	}
	if s.refused != nil {
		s.refused.Add(context.Background(), 1) //nolint:forbidigo // a connection has no context
	}
	s.seldom.Do(func() { s.log.Warn("a connection could not be secured", "client", client.String(), "err", err) })
}
