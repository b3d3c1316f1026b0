// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/internal/server/certificates"
	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

// After a certificate authority is removed, its clients can use their connections until the maximum age, which gRPC varies by a
// tenth, and cannot reconnect. A call that runs at that time does not keep the connection open for new calls.
func TestConnectionOfRemovedAuthorityEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		old, next := certificatestest.New(t, "old"), certificatestest.New(t, "next")
		trusted := t.TempDir()
		files := certificates.Files{Authorities: certificatestest.Write(t, trusted, "ca.crt", slices.Concat(old.PEM, next.PEM))}
		files.Certificate, files.Key = next.Pair(t, t.TempDir(), 2*time.Hour, "server")
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		secure, err := certificates.NewServer(certificates.ServerFlags{Files: files, MinVersion: "1.3"}, false, log)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		server := New(ctx, Options{MaxMessageSize: 1000, Drain: time.Minute, Logger: log, Guard: Guard{Credentials: secure.Credentials()}})
		service := &stub{entered: make(chan struct{}), release: make(chan struct{})}
		evaluatorgrpc.RegisterFunctionEvaluatorServer(server, service)
		listener, served := bufconn.Listen(1<<16), make(chan error, 1)
		go func() { served <- server.Serve(ctx, listener) }()

		flags := certificates.ClientFlags{Files: certificates.Files{Authorities: filepath.Join(trusted, "ca.crt")}, ServerName: "server"}
		flags.Files.Certificate, flags.Files.Key = old.Pair(t, t.TempDir(), 2*time.Hour, "client")
		options, err := flags.DialOptions("passthrough:///memory", log)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := grpc.NewClient("passthrough:///memory", append(options,
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
		if err != nil {
			t.Fatal(err)
		}
		call := func(image string) error {
			_, err := evaluatorgrpc.NewFunctionEvaluatorClient(conn).EvaluateFunction(t.Context(), &evaluator.EvaluateFunctionRequest{Image: image})
			return err
		}
		if err := call(""); err != nil {
			t.Fatal(err)
		}
		certificatestest.Write(t, trusted, "ca.crt", next.PEM)
		time.Sleep(connectionAge * 8 / 10) // fake time
		if err := call(""); err != nil {
			t.Errorf("error of a call on an old connection of a removed authority = %v, want nil", err)
		}
		running := make(chan error, 1)
		go func() { running <- call("wait") }()
		<-service.entered
		time.Sleep(connectionAge * 3 / 10)
		if err := call(""); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "it does not trust the authority that signed the certificate") {
			t.Errorf("error of a call after the maximum age = %v, want that the server does not trust the client's authority", err)
		}
		close(service.release)
		if err := <-running; err != nil {
			t.Errorf("error of a call that ran at the maximum age of its connection = %v, want nil", err)
		}
		_ = conn.Close()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
