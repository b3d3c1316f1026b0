// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"net"
	"sync"
)

// hanging is a listener whose connections can hang: they neither deliver nor send data.
type hanging struct {
	net.Listener

	mu sync.Mutex
	// open is closed while connections do not hang.
	open chan struct{}
}

func newHanging(l net.Listener) *hanging {
	h := &hanging{Listener: l, open: make(chan struct{})}
	close(h.open)
	return h
}

// hang makes connections hang, or resumes them.
func (h *hanging) hang(hang bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.open:
		if hang {
			h.open = make(chan struct{})
		}
	default:
		if !hang {
			close(h.open)
		}
	}
}

func (h *hanging) wait() {
	h.mu.Lock()
	open := h.open
	h.mu.Unlock()
	<-open
}

// Accept implements net.Listener.
func (h *hanging) Accept() (net.Conn, error) {
	conn, err := h.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &hangingConn{conn, h}, nil
}

type hangingConn struct {
	net.Conn

	h *hanging
}

// Read delivers data while the connection does not hang.
func (c *hangingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.h.wait()
	return n, err
}

// Write sends data while the connection does not hang.
func (c *hangingConn) Write(b []byte) (int, error) {
	c.h.wait()
	return c.Conn.Write(b)
}
