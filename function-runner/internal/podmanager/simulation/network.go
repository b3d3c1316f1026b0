// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"

	"google.golang.org/grpc/test/bufconn"
)

// port is the wrapper servers'.
const port = 9446

// network is where pods have their addresses.
type network interface {
	address() string
	listen(ip string) (net.Listener, error)
	dial(ctx context.Context, address string) (net.Conn, error)
}

// Dial connects to a pod; it is for grpc.WithContextDialer.
func (c *Cluster) Dial(ctx context.Context, address string) (net.Conn, error) {
	return c.network.dial(ctx, address)
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

func (m *memory) address() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addresses++
	return fmt.Sprintf("10.0.%d.%d", m.addresses/250, 1+m.addresses%250)
}

func (m *memory) listen(ip string) (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	address := net.JoinHostPort(ip, strconv.Itoa(port))
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

func (m *memory) dial(ctx context.Context, address string) (net.Conn, error) {
	m.mu.Lock()
	l := m.listeners[address]
	m.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return l.DialContext(ctx)
}

// sockets is this machine's network, where each address in 127.0.0.0/8 is its own.
type sockets struct{}

// address returns one that no other test is likely to have at the time.
func (sockets) address() string {
	n := rand.N(1 << 24) //nolint:gosec // no secret
	return fmt.Sprintf("127.%d.%d.%d", 1+n>>16%250, n>>8&0xff, 1+n&0x7f)
}

func (sockets) listen(ip string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(ip, strconv.Itoa(port))) //nolint:forbidigo // no caller
	if err != nil {
		return nil, errors.Join(err, errors.New("another test may have it"))
	}
	return l, nil
}

func (sockets) dial(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}
