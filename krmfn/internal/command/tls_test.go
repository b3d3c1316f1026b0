// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/krmfn/krmfn/internal/server/callers"
	"github.com/krmfn/krmfn/internal/server/certificates"
	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
)

// secured is a function runner that demands certificates of an authority, for a name. Its own is for the given hosts too.
func secured(t *testing.T, authority *certificatestest.Authority, name string, hosts ...string) (address, trusted string) {
	t.Helper()
	certificate, key := authority.Pair(t, t.TempDir(), 2*time.Hour, append(hosts, "127.0.0.1")...)
	trusted = certificatestest.Write(t, t.TempDir(), "ca.crt", authority.PEM)
	files := certificates.Files{Certificate: certificate, Key: key, Authorities: trusted}
	log := slog.New(slog.DiscardHandler)
	server, err := certificates.NewServer(certificates.ServerFlags{Files: files, MinVersion: "1.3"}, false, log)
	if err != nil {
		t.Fatal(err)
	}
	gate, err := callers.New(callers.Flags{Clients: []string{name}}, nil, noop.NewMeterProvider(), log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := grpcserver.New(ctx, grpcserver.Options{
		MaxMessageSize: 6 << 20, Drain: time.Second, Logger: log,
		Guard: grpcserver.Guard{Credentials: server.Credentials(), Permit: gate.Permit},
	})
	evaluatorgrpc.RegisterFunctionEvaluatorServer(s, porch{})
	s.SetServing(true)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String(), trusted
}

// closed is what krmfn says of a function runner that hangs up.
const closed = "it closed the connection, as a function runner with TLS does if --runner-ca is missing"

func TestRunnerWithTLS(t *testing.T) {
	t.Parallel()
	authority := certificatestest.New(t, "authority")
	address, trusted := secured(t, authority, "spiffe://test/*")
	good, goodKey := authority.Pair(t, t.TempDir(), 2*time.Hour, "spiffe://test/krmfn")
	other, otherKey := authority.Pair(t, t.TempDir(), 2*time.Hour, "spiffe://other/krmfn")
	late, lateKey := authority.Pair(t, t.TempDir(), time.Minute, "spiffe://test/krmfn")
	token := certificatestest.Write(t, t.TempDir(), "token", []byte("secret"))
	for name, tc := range map[string]struct {
		flags []string
		code  int
		want  string
	}{
		"a certificate":          {[]string{"--runner-ca", trusted, "--runner-cert", good, "--runner-key", goodKey}, failure.OK, "Successfully executed"},
		"none":                   {[]string{"--runner-ca", trusted}, failure.RunnerFailed, "the function runner rejected the client certificate: it requires one, and none was sent"},
		"an expired one":         {[]string{"--runner-ca", trusted, "--runner-cert", late, "--runner-key", lateKey}, failure.RunnerFailed, "it has expired or is not valid yet"},
		"one that may not call":  {[]string{"--runner-ca", trusted, "--runner-cert", other, "--runner-key", otherKey}, failure.RunnerFailed, "the client certificate for spiffe://other/krmfn may not call"},
		"another server's name":  {[]string{"--runner-ca", trusted, "--runner-cert", good, "--runner-key", goodKey, "--runner-server-name", "x"}, failure.RunnerFailed, "is not valid for x"},
		"plain text":             {nil, failure.RunnerFailed, closed},
		"a key that is missing":  {[]string{"--runner-ca", trusted, "--runner-cert", good}, failure.Failed, "--runner-cert needs --runner-key"},
		"a file that is missing": {[]string{"--runner-ca", "/nowhere"}, failure.Failed, "open /nowhere"},
		"a token in the open":    {[]string{"--runner", "192.0.2.1:9445", "--runner-token-file", token}, failure.Failed, "without encryption: secure the connection with --runner-ca"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := krmfn(t, append([]string{"render", newPackage(t, nil), "--runner", address}, tc.flags...)...)
			if got.code != tc.code {
				t.Errorf("exit code %d, want %d", got.code, tc.code)
			}
			contains(t, got.err, tc.want)
		})
	}
}

// A server that hangs up may have read what the client sent, a part of it, or nothing.
func TestRunnerThatHangsUp(t *testing.T) {
	t.Parallel()
	for name, hangUp := range map[string]func(*net.TCPConn) error{
		"having read all":    func(c *net.TCPConn) error { return errors.Join(read(c, 1<<10), c.Close()) },
		"having read a part": func(c *net.TCPConn) error { return errors.Join(read(c, 5), c.Close()) },
		"at once":            func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				t.Fatal(err)
			}
			var serving sync.WaitGroup
			serving.Go(func() {
				for {
					conn, err := listener.AcceptTCP()
					if errors.Is(err, net.ErrClosed) {
						return
					}
					if err := errors.Join(err, hangUp(conn)); err != nil {
						t.Error(err)
					}
				}
			})
			got := krmfn(t, "render", newPackage(t, nil), "--runner", listener.Addr().String())
			if err := listener.Close(); err != nil {
				t.Error(err)
			}
			serving.Wait()
			if got.code != failure.RunnerFailed {
				t.Errorf("exit code %d, want %d", got.code, failure.RunnerFailed)
			}
			contains(t, got.err, closed)
		})
	}
}

// read reads once, up to a size.
func read(c *net.TCPConn, size int) error {
	_, err := c.Read(make([]byte, size))
	return err
}
