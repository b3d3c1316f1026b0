// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// On every port, the server closes the connection of a client that does not complete the handshake in time.
func TestHandshakeHasADeadline(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]string{"nothing was sent": "", "half the preface": "PRI * HTTP/2.0\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls, probes := bufconn.Listen(1<<10), bufconn.Listen(1<<10)
				ctx, stop := context.WithCancel(t.Context())
				s := New(ctx, Options{MaxMessageSize: 1000, Drain: time.Second, Guard: Guard{Health: probes}, Logger: slog.New(slog.DiscardHandler)})
				served := make(chan error, 1)
				go func() { served <- s.Serve(ctx, calls) }()
				for _, port := range []*bufconn.Listener{calls, probes} {
					conn, err := port.Dial()
					if err != nil {
						t.Fatal(err)
					}
					begin := time.Now()
					if _, err := conn.Write([]byte(begun)); err != nil {
						t.Fatal(err)
					}
					if _, err := io.Copy(io.Discard, conn); err != nil {
						t.Errorf("read of a connection that the server closes = %v, want nil", err)
					}
					if got := time.Since(begin); got != connectTime {
						t.Errorf("connection was closed after %v, want %v", got, connectTime)
					}
					_ = conn.Close()
				}
				stop()
				if err := <-served; err != nil {
					t.Errorf("Serve() = %v, want nil", err)
				}
			})
		})
	}
}
