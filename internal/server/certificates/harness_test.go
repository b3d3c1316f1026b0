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

// address is what certificates of servers must be for.
const address = "127.0.0.1"

// logged keeps what is logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// authorities writes the certificate of an authority.
func authorities(t *testing.T, a *certificatestest.Authority) string {
	t.Helper()
	return certificatestest.Write(t, t.TempDir(), "ca.crt", a.PEM)
}

// pair makes files with a certificate of an authority.
func pair(t *testing.T, a *certificatestest.Authority, lifetime time.Duration, names ...string) Files {
	t.Helper()
	certificate, key := a.Pair(t, t.TempDir(), lifetime, names...)
	return Files{Certificate: certificate, Key: key}
}

// serve serves health over TLS, and returns the address.
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

// ask connects and asks for health once.
func ask(ctx context.Context, t *testing.T, address string, f ClientFlags) error {
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
	defer conn.Close() //nolint:errcheck // nothing to lose
	_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return err
}

func dirOf(f Files) string { return filepath.Dir(f.Certificate) }
