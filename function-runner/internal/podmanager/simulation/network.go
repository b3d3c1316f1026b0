// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
)

// Network assigns addresses to pods and connects to them.
type Network interface {
	// Address returns an address for a new pod.
	Address() string
	// Listen opens the listener of a wrapper server at a pod's address, and Dial connects to it.
	Listen(ip string) (net.Listener, error)
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// Dials returns the number of connection attempts on an in-memory network, and 0 for other networks.
func (c *Cluster) Dials() int {
	m, ok := c.network.(*memory)
	if !ok {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dials
}

// DialOptions returns options that connect to the cluster's pods and Services. They disable gRPC's idle timeout, because it would fire
// for all connections at the same instant of a bubble's time, with timers of zero duration, which crash the race detector of Go 1.26.
func (c *Cluster) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithContextDialer(c.dial), grpc.WithResolvers(names{}), grpc.WithIdleTimeout(0)}
}

// dial connects to the address of a pod, or to the pod behind the name of a Service.
func (c *Cluster) dial(ctx context.Context, address string) (net.Conn, error) {
	name, isService := strings.CutSuffix(address, "."+Namespace+".svc:"+strconv.Itoa(podtemplate.Port))
	if !isService {
		return c.network.Dial(ctx, address)
	}
	c.mu.Lock()
	service, w := c.objects[services][name], c.wrappers[name]
	c.mu.Unlock()
	if service == nil || w == nil {
		return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
	}
	return c.network.Dial(ctx, net.JoinHostPort(w.IP, strconv.Itoa(podtemplate.Port)))
}

// names is a resolver that passes names of Services through to dial.
type names struct{}

// Scheme implements resolver.Builder.
func (names) Scheme() string { return "dns" }

// Build resolves a name to itself.
func (names) Build(target resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	return names{}, cc.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: target.Endpoint()}}})
}

// ResolveNow implements resolver.Resolver.
func (names) ResolveNow(resolver.ResolveNowOptions) {}

// Close implements resolver.Resolver.
func (names) Close() {}

// memory is an in-memory network.
type memory struct {
	mu        sync.Mutex
	addresses int
	dials     int
	// free holds the addresses of deleted pods, for reuse.
	free      []string
	listeners map[string]*listener
}

type listener struct {
	*bufconn.Listener
	close func()
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.close()
	return l.Listener.Close()
}

// Address reuses a free address, or returns a new one.
func (m *memory) Address() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free); n > 0 {
		address := m.free[n-1]
		m.free = m.free[:n-1]
		return address
	}
	m.addresses++
	return fmt.Sprintf("10.0.%d.%d", m.addresses/250, 1+m.addresses%250)
}

// Listen implements Network.
func (m *memory) Listen(ip string) (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	address := net.JoinHostPort(ip, strconv.Itoa(podtemplate.Port))
	if m.listeners[address] != nil {
		return nil, syscall.EADDRINUSE
	}
	l := &listener{Listener: bufconn.Listen(1 << 16), close: func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.listeners, address)
	}}
	m.listeners[address] = l
	return l, nil
}

// release makes an address free.
func (m *memory) release(ip string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, ip)
}

// Dial implements Network. It fails with ECONNREFUSED if no server listens at the address.
func (m *memory) Dial(ctx context.Context, address string) (net.Conn, error) {
	m.mu.Lock()
	m.dials++
	l := m.listeners[address]
	m.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return l.DialContext(ctx)
}
