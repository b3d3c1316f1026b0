// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
)

// Porch's wrapper server reports SERVING, but does not implement the wrapper protocol. The error contains the configured advice.
func TestForeignWrapper(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	e := endpoint.New(t.Context(), "pod", "passthrough:///"+l.Addr().String(), mine, endpoint.Options{MaxMessageSize: 1000, Advice: "write another"})
	t.Cleanup(func() { _ = e.Close() })
	if err := e.Ready(within(t)); err != nil {
		t.Fatal(err)
	}
	_, err = e.Evaluate(within(t), "img", []byte("x"), ignore)
	if err == nil || !strings.HasPrefix(err.Error(), "function pod pod: ") || !strings.HasSuffix(err.Error(), ": write another") {
		t.Errorf("Evaluate() error = %v, want the prefix %q and the suffix %q", err, "function pod pod: ", ": write another")
	}
}

// The address of a deleted pod may reach something else, such as a network proxy.
func TestEvaluateIsNotRunByServersWithoutGRPC(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		w.WriteHeader(http.StatusNotFound)
	})}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	e := endpoint.New(t.Context(), "pod", "passthrough:///"+l.Addr().String(), mine, endpoint.Options{MaxMessageSize: 1000, Advice: "write another"})
	t.Cleanup(func() { _ = e.Close() })
	_, err = e.Evaluate(within(t), "img", []byte("x"), ignore)
	if _, ok := errors.AsType[*endpoint.NotRunError](err); !ok {
		t.Errorf("Evaluate() = %v, want a NotRunError", err)
	}
}
