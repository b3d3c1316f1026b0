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
	// handshakeTime is how long a client may take to show who it is: until then anybody can hold a connection.
	handshakeTime = 5 * time.Second
	// refusalPause is the least time between two log lines about clients that are refused.
	refusalPause = time.Second
)

// secured returns what lets function runners alone connect, and answers for health in plain text on a port of its own, which it opens.
// Without --tls, everybody may connect. refused is called for each client that is turned away.
//
// Nothing in the pod is worth stealing: the authorities are public, and the key of the server, which lives in this process alone,
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
		// Each connection shows its certificate: a session must not outlive it.
		SessionTicketsDisabled: true,
		// Each record is a write of its own. Small ones come sooner over slow links, which the network of pods is not.
		DynamicRecordSizingDisabled: true,
	})
	return grpcserver.Guard{Credentials: &runnersOnly{TransportCredentials: secure, refused: refused, log: log}, Health: health}, nil
}

// authorities returns those that sign certificates of function runners.
func authorities(environ []string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for _, kv := range environ {
		if key, value, _ := strings.Cut(kv, "="); key == wrapperapi.AuthoritiesVariable && pool.AppendCertsFromPEM([]byte(value)) {
			return pool, nil
		}
	}
	return nil, fmt.Errorf("--%s demands certificates of function runners, and %s has no certificate authority in PEM format",
		wrapperapi.TLSFlag, wrapperapi.AuthoritiesVariable)
}

// isRunner refuses certificates that an authority has signed for another purpose.
func isRunner(state tls.ConnectionState) error {
	return state.PeerCertificates[0].VerifyHostname(wrapperapi.RunnerName)
}

// selfSigned returns a certificate of a new key.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	// Nobody looks at more of it than the key.
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// runnersOnly tells of clients that are refused.
type runnersOnly struct {
	credentials.TransportCredentials
	refused func()
	log     *slog.Logger
	logged  atomic.Int64
}

func (c *runnersOnly) Clone() credentials.TransportCredentials { return c }

func (c *runnersOnly) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := c.TransportCredentials.ServerHandshake(conn)
	// One that connects and says nothing looks whether the port is open.
	if err != nil && !errors.Is(err, io.EOF) {
		c.refused()
		now, last := time.Now().UnixNano(), c.logged.Load()
		if now-last >= int64(refusalPause) && c.logged.CompareAndSwap(last, now) {
			c.log.Warn("a client was refused, only function runners may connect", "client", conn.RemoteAddr().String(), "err", err)
		}
	}
	return secure, info, err
}
