// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// DialOptions returns how a client connects to the function runner at an address: by TLS, and with a token, where the flags ask for
// it. Errors name the file that cannot be used, or say that a token would be sent for all to read. Each connection gets the
// certificates that the files have at that time.
func (c *ClientFlags) DialOptions(address string, log *slog.Logger) ([]grpc.DialOption, error) {
	var options []grpc.DialOption
	encrypted := c.Files.Authorities != ""
	if encrypted {
		source, err := newSource(c.Files, log)
		if err != nil {
			return nil, err
		}
		options = append(options, grpc.WithTransportCredentials(clientCredentials{credentials.NewTLS(nil), source, c.ServerName}))
	}
	if c.TokenFile != "" {
		if !encrypted && !private(address) {
			return nil, fmt.Errorf("--runner-token-file would be sent to %s without encryption: secure the connection with --runner-ca", address)
		}
		t := token{file: c.TokenFile, encrypted: encrypted}
		if _, err := t.read(); err != nil {
			return nil, err
		}
		options = append(options, grpc.WithPerRPCCredentials(t))
	}
	return options, nil
}

// private tells whether a connection stays inside this machine, or is made by a Kubernetes API server, which encrypts it.
func private(address string) bool {
	for _, scheme := range []string{"unix:", "unix-abstract:", "kube:"} {
		if strings.HasPrefix(address, scheme) {
			return true
		}
	}
	host, _, err := net.SplitHostPort(strings.TrimPrefix(address, "passthrough:///"))
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// clientCredentials are those of TLS with certificates that may change.
type clientCredentials struct {
	credentials.TransportCredentials
	source     *source
	serverName string
}

func (c clientCredentials) Clone() credentials.TransportCredentials { return c }

// ClientHandshake secures a connection.
func (c clientCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	now := c.source.current()
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: now.authorities}
	if now.certificate != nil {
		// It is sent whatever authorities the server names, so that the server can say why it refuses it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return now.certificate, nil }
	}
	if c.serverName != "" {
		authority = c.serverName
	}
	secured, info, err := credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
	if err != nil {
		return nil, nil, explain(err, "function runner", "--runner-ca")
	}
	return explained{secured}, info, nil
}

// explained is a connection to a server. In TLS 1.3 a client learns only after the handshake that the server has refused it.
type explained struct{ net.Conn }

func (c explained) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, explain(err, "function runner", "--runner-ca")
}

// lastWords is how long a server that has hung up may take to say why.
const lastWords = time.Second

func (c explained) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == nil {
		return n, nil
	}
	// What the server said before it hung up is there to be read, by whoever reads.
	if c.SetReadDeadline(time.Now().Add(lastWords)) == nil {
		if _, cause := c.Read(make([]byte, 1)); isRefusal(cause) {
			return n, cause
		}
	}
	return n, err
}

// token is what calls carry.
type token struct {
	file      string
	encrypted bool
}

// GetRequestMetadata returns the headers of a call.
func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	text, err := t.read()
	if err != nil {
		return nil, err
	}
	return map[string]string{"authorization": "Bearer " + text}, nil
}

// RequireTransportSecurity makes gRPC refuse connections without TLS, but for those inside this machine.
func (t token) RequireTransportSecurity() bool { return t.encrypted }

func (t token) read() (string, error) {
	text, err := os.ReadFile(t.file)
	if err != nil {
		return "", fmt.Errorf("read --runner-token-file: %w", err)
	}
	trimmed := strings.TrimSpace(string(text))
	if trimmed == "" || strings.ContainsFunc(trimmed, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("--runner-token-file %s has no token: want one line of printable characters", t.file)
	}
	return trimmed, nil
}
