// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
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

	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/internal/wrapperapi"
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
func secured(ctx context.Context, o options, environ []string, refused func(), log *slog.Logger) (grpcserver.Guard, error) {
	if !o.tls {
		return grpcserver.Guard{}, nil
	}
	trusted, err := authorities(environ)
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
		// The authorities are known by their fingerprints only, so VerifyConnection verifies the certificate.
		ClientAuth: tls.RequireAnyClientCert,
		VerifyConnection: func(state tls.ConnectionState) error {
			return wrapperapi.VerifyRunner(state.PeerCertificates, trusted)
		},
		// A resumed session could outlive the client's certificate.
		SessionTicketsDisabled: true,
		// Each TLS record is a separate write. Small records reduce latency on slow links only.
		DynamicRecordSizingDisabled: true,
	})
	return grpcserver.Guard{Credentials: &runnersOnly{TransportCredentials: secure, refused: refused, log: log}, Health: health}, nil
}

// authorities returns the fingerprints of the authorities that sign certificates of function runners.
func authorities(environ []string) ([]string, error) {
	list := strings.Split(flags.Getenv(environ, wrapperapi.AuthoritiesVariable), ",")
	for _, fingerprint := range list {
		if sum, err := hex.DecodeString(fingerprint); err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("--%s needs SHA-256 fingerprints of certificate authorities in %s, but %q is not one",
				wrapperapi.TLSFlag, wrapperapi.AuthoritiesVariable, fingerprint)
		}
	}
	return list, nil
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
