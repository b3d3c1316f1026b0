// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/internal/server/logging"
)

// harness is a server whose function is a shell script, and a connection to it.
type harness struct {
	addr string
	conn *grpc.ClientConn
	// stop begins the shutdown. served receives the result of serve.
	stop   context.CancelFunc
	served chan error
}

// end shuts the server down and waits for it.
func (h *harness) end(t testing.TB) {
	t.Helper()
	h.stop()
	if err := <-h.served; err != nil {
		t.Errorf("serve() = %v", err)
	}
	_ = h.conn.Close()
}

// run starts a server with additional environment variables. The caller must call end.
func run(t testing.TB, more []string, log io.Writer, script string, flags ...string) *harness {
	t.Helper()
	o, err := parse(append(flags, "--", "/bin/sh", "-c", script))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{addr: listener.Addr().String(), stop: cancel, served: make(chan error, 1)}
	environ := append([]string{"PATH=/usr/bin:/bin", "OF_THE_IMAGE=x", "OTEL_SERVICE_NAME=y"}, more...)
	go func() { h.served <- serve(ctx, listener, o, environ, logging.New(log, logging.JSON, 2)) }()
	h.conn = dial(t, h.addr)
	return h
}

func dial(t testing.TB, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// start starts a server until the test ends. It returns a connection to it and its address.
func start(t *testing.T, script string, flags ...string) (*grpc.ClientConn, string) {
	t.Helper()
	h := run(t, nil, io.Discard, script, flags...)
	t.Cleanup(func() { h.end(t) })
	return h.conn, h.addr
}

// fifo creates a named pipe with which a script and its test synchronise.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// drained reads a pipe until all writers have closed it.
func drained(t *testing.T, path string) {
	t.Helper()
	if _, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
}
