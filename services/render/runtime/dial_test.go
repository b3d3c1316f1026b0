// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// addresses are loopback addresses that nothing else listens on or connects from: each replica takes the next.
var addresses atomic.Uint32

func ownAddress() string {
	n := addresses.Add(1)
	return fmt.Sprintf("127.31.%d.%d:0", n>>8&0xff, n&0xff)
}

// replica is a function runner at an address of its own.
type replica struct {
	v1Server
	server  *grpc.Server
	address string
	served  sync.WaitGroup
}

func (r *replica) start(t *testing.T) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	r.address, r.server = listener.Addr().String(), grpc.NewServer()
	evaluatorv1grpc.RegisterFunctionEvaluatorServiceServer(r.server, &r.v1Server)
	r.served.Go(func() { _ = r.server.Serve(listener) })
	t.Cleanup(r.stop)
}

func (r *replica) stop() {
	r.server.Stop()
	r.served.Wait()
}

// newReplicas returns so many replicas, and a runtime on one connection to all of them. Each has a loopback address to
// itself, so that its port is still free when it restarts.
func newReplicas(t *testing.T, n int) ([]*replica, *runtime.GRPC) {
	t.Helper()
	var replicas []*replica
	names := manual.NewBuilderWithScheme("replicas")
	state := resolver.State{}
	for range n {
		r := &replica{address: ownAddress(), v1Server: v1Server{evaluator: functionsForTests, maxList: maxMessage}}
		r.start(t)
		replicas = append(replicas, r)
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: r.address}}})
	}
	names.InitialState(state)
	conn, err := runtime.Dial("replicas:///", runtime.Limits{}, grpc.WithResolvers(names))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return replicas, runtime.NewGRPC(conn, runtime.Limits{})
}

func TestDialBalances(t *testing.T) {
	t.Parallel()
	replicas, g := newReplicas(t, 3)
	// Until all are connected, the calls go to those that are.
	for replicas[0].unary.Load() < 5 || replicas[1].unary.Load() < 5 || replicas[2].unary.Load() < 5 {
		if _, err := g.Evaluate(t.Context(), request("echo")); err != nil {
			t.Fatal(err)
		}
	}
	replicas[1].stop()
	for range 20 {
		if _, err := g.Evaluate(t.Context(), request("echo")); err != nil {
			t.Fatalf("with one replica gone: %v", err)
		}
	}
}

func TestDialOutlivesARestart(t *testing.T) {
	t.Parallel()
	replicas, g := newReplicas(t, 1)
	if _, err := g.Evaluate(t.Context(), request("echo")); err != nil {
		t.Fatal(err)
	}
	replicas[0].stop()
	done := make(chan error)
	go func() {
		_, err := g.Evaluate(context.WithoutCancel(t.Context()), request("echo"))
		done <- err
	}()
	replicas[0].start(t)
	if err := <-done; err != nil {
		t.Errorf("a call while the runner restarts: %v", err)
	}
}

// A runner that is gone for good is said to be.
func TestDialGivesUp(t *testing.T) {
	t.Parallel()
	replicas, g := newReplicas(t, 1)
	replicas[0].stop()
	if _, err := g.Evaluate(t.Context(), request("echo")); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestDialTarget(t *testing.T) {
	t.Parallel()
	if _, err := runtime.Dial("a\x00b", runtime.Limits{}); err == nil || !strings.Contains(err.Error(), "want host:port") {
		t.Errorf("got %v", err)
	}
}
