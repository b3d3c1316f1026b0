// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	"github.com/krmfn/krmfn/services/evaluation/remote"
)

// addresses counts the loopback addresses in use. Each replica takes the next one, so that nothing else listens on its address.
var addresses atomic.Uint32

func ownAddress() string {
	n := addresses.Add(1)
	return fmt.Sprintf("127.31.%d.%d:0", n>>8&0xff, n&0xff)
}

// replica is a function runner with its own address.
type replica struct {
	v1Server
	// porch is Porch's contract, the only one that an old replica supports. unknown counts the calls of methods that it does
	// not support.
	porch   porchServer
	old     bool
	unknown atomic.Int32
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
	r.address, r.server = listener.Addr().String(), grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		r.unknown.Add(1)
		return status.Error(codes.Unimplemented, "unknown service")
	}))
	r.porch.evaluator = r.evaluator
	evaluatorgrpc.RegisterFunctionEvaluatorServer(r.server, &r.porch)
	if !r.old {
		evaluatorv1grpc.RegisterFunctionEvaluatorServiceServer(r.server, &r.v1Server)
	}
	r.served.Go(func() { _ = r.server.Serve(listener) })
	t.Cleanup(r.stop)
}

func (r *replica) stop() {
	r.server.Stop()
	r.served.Wait()
}

func newReplicas(n int) []*replica {
	var replicas []*replica
	for range n {
		replicas = append(replicas, &replica{v1Server: v1Server{evaluator: functionsForTests, maxList: maxMessage}})
	}
	return replicas
}

// connectReplicas starts replicas and returns a runtime with one connection to all of them. Each replica has its own loopback
// address, so that its port is still free when it restarts.
func connectReplicas(t *testing.T, replicas []*replica) *remote.Client {
	t.Helper()
	names := manual.NewBuilderWithScheme("replicas")
	state := resolver.State{}
	for _, r := range replicas {
		r.address = ownAddress()
		r.start(t)
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: r.address}}})
	}
	names.InitialState(state)
	conn, err := remote.Dial("replicas:///", remote.Limits{}, grpc.WithResolvers(names))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return remote.New(conn, remote.Limits{})
}

// If one replica supports only Porch's contract, calls still use the newer contract with the others.
func TestDialMixedReplicas(t *testing.T) {
	t.Parallel()
	replicas := newReplicas(3)
	replicas[0].old, replicas[1].old = true, true
	g, upgraded := connectReplicas(t, replicas), replicas[2]
	evaluate := func() {
		if _, err := g.Evaluate(t.Context(), request("echo")); err != nil {
			t.Fatal(err)
		}
	}
	// Until all replicas are connected, calls go to those that are.
	for replicas[0].unknown.Load() == 0 || replicas[1].unknown.Load() == 0 || upgraded.unary.Load() == 0 {
		evaluate()
	}
	before := upgraded.unary.Load()
	for range 20 {
		evaluate()
	}
	if got := upgraded.unary.Load() - before; got < 20 {
		t.Errorf("after the old replicas answered, %d of 20 calls used krmfn.evaluator.v1 with the new one", got)
	}
}

func TestDialBalances(t *testing.T) {
	t.Parallel()
	replicas := newReplicas(3)
	g := connectReplicas(t, replicas)
	// Until all replicas are connected, calls go to those that are.
	for replicas[0].unary.Load() < 5 || replicas[1].unary.Load() < 5 || replicas[2].unary.Load() < 5 {
		if _, err := g.Evaluate(t.Context(), request("echo")); err != nil {
			t.Fatal(err)
		}
	}
	replicas[1].stop()
	for range 20 {
		if _, err := g.Evaluate(t.Context(), request("echo")); err != nil {
			t.Fatalf("Evaluate() with one replica stopped = %v", err)
		}
	}
}

func TestDialRetriesDuringARestart(t *testing.T) {
	t.Parallel()
	replicas := newReplicas(1)
	g := connectReplicas(t, replicas)
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
		t.Errorf("Evaluate() while the runner restarts = %v", err)
	}
}

// If no runner listens, the call fails with the connection error.
func TestDialGivesUp(t *testing.T) {
	t.Parallel()
	replicas := newReplicas(1)
	g := connectReplicas(t, replicas)
	replicas[0].stop()
	if _, err := g.Evaluate(t.Context(), request("echo")); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Evaluate() = %v, want connection refused", err)
	}
}

func TestDialTarget(t *testing.T) {
	t.Parallel()
	if _, err := remote.Dial("a\x00b", remote.Limits{}); err == nil || !strings.Contains(err.Error(), "want host:port") {
		t.Errorf("Dial() = %v, want an error about host:port", err)
	}
}
