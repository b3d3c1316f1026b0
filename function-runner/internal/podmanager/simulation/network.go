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

// Network is where pods have their addresses.
type Network interface {
	// Address returns one for a new pod.
	Address() string
	// Listen has a wrapper server listen at a pod's address, and Dial connects to it.
	Listen(ip string) (net.Listener, error)
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// Dials returns how many connections were asked for, in memory.
func (c *Cluster) Dials() int {
	m, ok := c.network.(*memory)
	if !ok {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dials
}

// DialOptions has connections to pods and Services made in the cluster. None is given up while it is idle: gRPC finds that out for all of
// them in the same moment of a bubble's time, by timers of no duration, which crash the race detector of Go 1.26.
func (c *Cluster) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithContextDialer(c.dial), grpc.WithResolvers(names{}), grpc.WithIdleTimeout(0)}
}

// dial connects to the address of a pod, or to the pod of a Service by its name.
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

// names leaves names of Services to dial.
type names struct{}

// Scheme is the one of targets that are names.
func (names) Scheme() string { return "dns" }

// Build resolves a name to itself.
func (names) Build(target resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	return names{}, cc.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: target.Endpoint()}}})
}

// ResolveNow does nothing.
func (names) ResolveNow(resolver.ResolveNowOptions) {}

// Close does nothing.
func (names) Close() {}

// memory is a network without sockets.
type memory struct {
	mu        sync.Mutex
	addresses int
	dials     int
	// free has the addresses of pods that have gone, which are used again.
	free      []string
	listeners map[string]*listener
}

type listener struct {
	*bufconn.Listener
	close func()
}

// Close ends it.
func (l *listener) Close() error {
	l.close()
	return l.Listener.Close()
}

// Address takes one that is free again, or counts up.
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

// Listen listens in memory.
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

// release has an address used again.
func (m *memory) release(ip string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, ip)
}

// Dial is refused where nobody listens.
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
