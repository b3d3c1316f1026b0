// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// address is the address that server certificates must contain.
const address = "127.0.0.1"

// logBuffer is a log in memory. Safe for concurrent use.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// authorities writes the certificate of an authority to a file, and returns its path.
func authorities(t *testing.T, a *certificatestest.Authority) string {
	t.Helper()
	return certificatestest.Write(t, t.TempDir(), "ca.crt", a.PEM)
}

// pair writes a certificate issued by an authority, and its key, to files.
func pair(t *testing.T, a *certificatestest.Authority, lifetime time.Duration, names ...string) Files {
	t.Helper()
	certificate, key := a.Pair(t, t.TempDir(), lifetime, names...)
	return Files{Certificate: certificate, Key: key}
}

// serve starts a health service with TLS until the end of the test, and returns its address.
func serve(t *testing.T, s *Server) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(s.Credentials()))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return listener.Addr().String()
}

// checkHealth opens a connection and checks the server's health once.
func checkHealth(ctx context.Context, t *testing.T, address string, f ClientFlags) error {
	t.Helper()
	options, err := f.DialOptions(address, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if f.Files.Authorities == "" {
		options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	conn, err := grpc.NewClient(address, options...)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the call has ended
	_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return err
}

func dirOf(f Files) string { return filepath.Dir(f.Certificate) }
