// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// from is a connection of a client with the given address.
type from struct {
	net.Conn
	address string
	closed  bool
}

func (c *from) RemoteAddr() net.Addr {
	address, _ := net.ResolveTCPAddr("tcp", c.address)
	return address
}

func (c *from) Close() error {
	c.closed = true
	return nil
}

// queue is a listener with a fixed list of connections.
type queue struct {
	net.Listener
	conns []*from
}

func (q *queue) Accept() (net.Conn, error) {
	if len(q.conns) == 0 {
		return nil, net.ErrClosed
	}
	c := q.conns[0]
	q.conns = q.conns[1:]
	return c, nil
}

// accepted accepts connections until the listener fails. It returns them and their peers.
func accepted(l net.Listener) (peers []string, conns []net.Conn) {
	for {
		c, err := l.Accept()
		if err != nil {
			return peers, conns
		}
		peers, conns = append(peers, Host(c.RemoteAddr())), append(conns, c)
	}
}

// Connections are limited per peer and in total.
func TestLimit(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	q := &queue{}
	l := Limit(q, 3, 2, slog.New(slog.NewTextHandler(&log, nil)))
	dial := func(addresses ...string) (conns []*from) {
		for _, a := range addresses {
			conns = append(conns, &from{address: a})
		}
		q.conns = conns
		return conns
	}
	refused := dial("10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3", "[::1]:4", "10.0.0.2:5")
	got, conns := accepted(l)
	if diff := cmp.Diff([]string{"10.0.0.1", "10.0.0.1", "::1"}, got); diff != "" {
		t.Errorf("peers of accepted connections (-want +got):\n%s", diff)
	}
	for i, want := range []bool{false, false, true, false, true} {
		if refused[i].closed != want {
			t.Errorf("connection %d: closed = %v, want %v", i, refused[i].closed, want)
		}
	}
	for range 2 {
		_ = conns[0].Close()
	}
	dial("10.0.0.1:6", "10.0.0.1:7")
	if got, _ = accepted(l); len(got) != 1 {
		t.Errorf("accepted %d connections after one was closed twice, want 1", len(got))
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "peer=10.0.0.1 count=1") {
		t.Errorf("log = %s, want one line with the first rejected peer", log.String())
	}
}

// Rejections are logged once a minute.
func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := newRefusals(slog.New(slog.NewTextHandler(&log, nil)), "refused")
		for range 121 {
			r.add("peer")
			time.Sleep(time.Second) // fake time
		}
		got := strings.Count(log.String(), "count=1\n") + 10*strings.Count(log.String(), "count=60\n")
		if got != 21 {
			t.Errorf("log = %s, want a line for the first refusal and two for 60 each", log.String())
		}
	})
}

// The connection of a client that does not read is closed.
func TestDeafClientsAreCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, conn := net.Pipe()
		defer client.Close() //nolint:errcheck // an in-memory pipe
		limited := &counted{conn, func() {}}
		begin := time.Now()
		if _, err := limited.Write([]byte("answer")); err == nil || time.Since(begin) != writeTimeout {
			t.Errorf("Write() error = %v after %v, want an error after %v", err, time.Since(begin), writeTimeout)
		}
		if _, err := limited.Read(make([]byte, 1)); err == nil {
			t.Error("Read() succeeded, want a closed connection")
		}
	})
}
