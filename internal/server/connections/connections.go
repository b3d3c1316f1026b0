// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package connections limits the connections of a server, so that one client can neither take the server's memory nor keep all other
// clients away.
package connections

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// Limit accepts at most total connections at a time, and at most perPeer from one address. It closes further connections at
// once and logs that at most once a minute. It also closes connections whose clients do not read.
func Limit(listener net.Listener, total, perPeer int, log *slog.Logger) net.Listener {
	return &limited{
		Listener: listener, total: total, perPeer: perPeer, peers: map[string]int{},
		refused: newRefusals(log, "too many connections, closing new ones: look for a client that opens many connections"),
	}
}

type limited struct {
	net.Listener
	total, perPeer int
	refused        *refusals

	mu   sync.Mutex
	open int
	// peers counts the open connections by address.
	peers map[string]int
}

// Accept returns the next connection within the limits.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := Host(conn.RemoteAddr())
		if l.enter(peer) {
			return &counted{conn, sync.OnceFunc(func() { l.leave(peer) })}, nil
		}
		_ = conn.Close()
		l.refused.add(peer)
	}
}

func (l *limited) enter(peer string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == l.total || l.peers[peer] == l.perPeer {
		return false
	}
	l.open++
	l.peers[peer]++
	return true
}

func (l *limited) leave(peer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.peers[peer]--; l.peers[peer] == 0 {
		delete(l.peers, peer)
	}
}

// Host returns an address without its port.
func Host(a net.Addr) string {
	if h, _, err := net.SplitHostPort(a.String()); err == nil {
		return h
	}
	return a.String()
}

// writeTimeout is the maximum duration of a write. Until then, responses to a client that does not read stay in memory.
const writeTimeout = 20 * time.Second

// counted is a connection that is counted until it is closed. It closes itself if its client does not read.
type counted struct {
	net.Conn
	leave func()
}

// Write writes to the client, which must read within writeTimeout.
func (c *counted) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// Servers detect a broken connection only by a failing read.
		_ = c.Close()
	}
	return n, err
}

// Close closes the connection and uncounts it.
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
