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

// DialOptions returns the options for connections to the function runner at an address: TLS and a token, if the flags configure them.
// Each new connection uses the current content of the files. An error names the unusable file, or says that a token would be sent
// without encryption.
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
		if !encrypted && !isPrivate(address) {
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

// isPrivate reports whether a connection stays on this machine, or goes through a Kubernetes API server, which encrypts it.
func isPrivate(address string) bool {
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

// clientCredentials are TLS credentials that use the current certificates of source for each handshake.
type clientCredentials struct {
	credentials.TransportCredentials
	source     *source
	serverName string
}

func (c clientCredentials) Clone() credentials.TransportCredentials { return c }

// ClientHandshake performs a TLS handshake.
func (c clientCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	now := c.source.current()
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: now.authorities}
	if now.certificate != nil {
		// Send the certificate even if the server does not list its authority, so that the server can name the reason for rejecting it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return now.certificate, nil }
	}
	if c.serverName != "" {
		authority = c.serverName
	}
	secured, info, err := credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
	if err != nil {
		return nil, nil, explainToClient(err)
	}
	return explainedConn{secured}, info, nil
}

// explainedConn is a connection to a server. In TLS 1.3, a client learns only after the handshake that the server has rejected its
// certificate, from an error of the first read.
type explainedConn struct{ net.Conn }

func (c explainedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, explainToClient(err)
}

func explainToClient(err error) error {
	return explain(err, "function runner", "client certificate", "--runner-ca")
}

// alertTimeout is the time limit for reading the alert of a server that has closed the connection.
const alertTimeout = time.Second

func (c explainedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == nil {
		return n, nil
	}
	// The alert that the server sent before it closed the connection can still be read.
	if c.SetReadDeadline(time.Now().Add(alertTimeout)) == nil {
		if _, cause := c.Read(make([]byte, 1)); isRefusal(cause) {
			return n, cause
		}
	}
	return n, err
}

// token sends the bearer token in a file with each call.
type token struct {
	file      string
	encrypted bool
}

// GetRequestMetadata returns the authorization header of a call. It reads the file each time.
func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	text, err := t.read()
	if err != nil {
		return nil, err
	}
	return map[string]string{"authorization": "Bearer " + text}, nil
}

// RequireTransportSecurity makes gRPC reject connections without TLS. It is false for private addresses; see DialOptions.
func (t token) RequireTransportSecurity() bool { return t.encrypted }

func (t token) read() (string, error) {
	text, err := os.ReadFile(t.file)
	if err != nil {
		return "", fmt.Errorf("read --runner-token-file: %w", err)
	}
	trimmed := strings.TrimSpace(string(text))
	if trimmed == "" || strings.ContainsFunc(trimmed, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("--runner-token-file %s does not contain a token: want one line of printable characters", t.file)
	}
	return trimmed, nil
}
