// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"

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

// Dial connects to a pod; it is for grpc.WithContextDialer.
func (c *Cluster) Dial(ctx context.Context, address string) (net.Conn, error) {
	return c.network.Dial(ctx, address)
}

// memory is a network without sockets.
type memory struct {
	mu        sync.Mutex
	addresses int
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

// Address counts up.
func (m *memory) Address() string {
	m.mu.Lock()
	defer m.mu.Unlock()
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

// Dial is refused where nobody listens.
func (m *memory) Dial(ctx context.Context, address string) (net.Conn, error) {
	m.mu.Lock()
	l := m.listeners[address]
	m.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return l.DialContext(ctx)
}
