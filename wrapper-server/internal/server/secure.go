// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
	"github.com/krmfn/krmfn/services/server/grpcserver"
)

const (
	// handshakeTime is the maximum duration of a handshake. Until it is complete, any client can hold a connection.
	handshakeTime = 5 * time.Second
	// rejectionLogInterval is the minimum interval between log lines about rejected clients.
	rejectionLogInterval = time.Second
)

// secured returns credentials that allow only function runners to connect, and a listener for health in plain text on a separate port.
// Without --tls, every client may connect. refused is called for each rejected client.
//
// The pod contains no secrets: the authorities are public, and the server's key exists only in this process and authenticates nothing.
// proves nothing to anybody.
func secured(ctx context.Context, o options, environ []string, refused func(), log *slog.Logger) (grpcserver.Guard, error) {
	if !o.tls {
		return grpcserver.Guard{}, nil
	}
	authorities, err := authorities(environ)
	if err != nil {
		return grpcserver.Guard{}, err
	}
	certificate, err := selfSigned()
	if err != nil {
		return grpcserver.Guard{}, fmt.Errorf("make the certificate of the server: %w", err)
	}
	health, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(o.healthPort))
	if err != nil {
		return grpcserver.Guard{}, fmt.Errorf("listen on --%s: %w", wrapperapi.HealthPortFlag, err)
	}
	secure := credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authorities, VerifyConnection: isRunner,
		// A resumed session could outlive the client's certificate.
		SessionTicketsDisabled: true,
		// Each TLS record is a separate write. Small records reduce latency on slow links only.
		DynamicRecordSizingDisabled: true,
	})
	return grpcserver.Guard{Credentials: &runnersOnly{TransportCredentials: secure, refused: refused, log: log}, Health: health}, nil
}

// authorities returns the authorities that sign function runners' certificates.
func authorities(environ []string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for _, kv := range environ {
		if key, value, _ := strings.Cut(kv, "="); key == wrapperapi.AuthoritiesVariable && pool.AppendCertsFromPEM([]byte(value)) {
			return pool, nil
		}
	}
	return nil, fmt.Errorf("--%s requires certificates of function runners, but %s has no certificate authority in PEM format",
		wrapperapi.TLSFlag, wrapperapi.AuthoritiesVariable)
}

// isRunner rejects certificates that the authority has signed for other names.
func isRunner(state tls.ConnectionState) error {
	return state.PeerCertificates[0].VerifyHostname(wrapperapi.RunnerName)
}

// selfSigned returns a certificate with a new key.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	// Clients check nothing but the key.
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// runnersOnly logs and counts rejected clients.
type runnersOnly struct {
	credentials.TransportCredentials
	refused func()
	log     *slog.Logger
	logged  atomic.Int64
}

func (c *runnersOnly) Clone() credentials.TransportCredentials { return c }

func (c *runnersOnly) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := c.TransportCredentials.ServerHandshake(conn)
	// A client that connects and sends nothing probably checks whether the port is open.
	if err != nil && !errors.Is(err, io.EOF) {
		c.refused()
		now, last := time.Now().UnixNano(), c.logged.Load()
		if now-last >= int64(rejectionLogInterval) && c.logged.CompareAndSwap(last, now) {
			c.log.Warn("client rejected, only function runners may connect", "client", conn.RemoteAddr().String(), "err", err)
		}
	}
	return secure, info, err
}
