// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package portforward

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
)

const (
	// maxReason is the most bytes of what the kubelet says about a connection that failed, and reasonTime how long that may take
	// to come after the connection has ended.
	maxReason, reasonTime = 4 << 10, time.Second
	// closeTime limits the orderly shutdown of a connection.
	closeTime = time.Second
)

// conn is a connection to a port of a pod. The one that embeds it is an end of a pipe, which has the deadlines that streams lack.
type conn struct {
	net.Conn
	below  upgraded
	pumps  sync.WaitGroup
	close  sync.Once
	forget func()
	// reason is what the kubelet says about why the connection failed.
	reason atomic.Pointer[error]
}

func (s *Service) connect(ctx context.Context, e endpoint) (*conn, error) {
	below, err := s.upgrade(ctx, e.pod)
	if err != nil {
		return nil, err
	}
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(int(e.port)))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	reasons, err := below.CreateStream(headers)
	if err != nil {
		return nil, errors.Join(err, below.Close())
	}
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := below.CreateStream(headers)
	if err != nil {
		return nil, errors.Join(err, below.Close())
	}
	// Nothing is written to it.
	_ = reasons.Close()
	near, far := net.Pipe()
	c := &conn{Conn: near, below: below, forget: func() {}}
	c.pump(far, data, reasons)
	return c, nil
}

// pump copies between the pipe and the stream until one of them ends.
func (c *conn) pump(far net.Conn, data, reasons httpstream.Stream) {
	told := make(chan struct{})
	c.pumps.Go(func() {
		defer close(told)
		if text, _ := io.ReadAll(io.LimitReader(reasons, maxReason)); len(text) > 0 {
			err := errors.New(string(text))
			c.reason.Store(&err)
			_ = data.Reset()
		}
	})
	c.pumps.Go(func() {
		_, _ = io.Copy(far, data)
		select {
		case <-told:
		case <-time.After(reasonTime):
		}
		_ = far.Close()
	})
	c.pumps.Go(func() {
		_, _ = io.Copy(data, far)
		// The near end is closed, or the stream is broken: nothing else can come.
		c.end()
		_ = far.Close()
	})
}

// end ends what is below, in order if that is possible at once.
func (c *conn) end() {
	c.close.Do(func() {
		if c.below.abort != nil {
			defer time.AfterFunc(closeTime, c.below.abort).Stop()
		}
		_ = c.below.Close()
	})
}

// Read reads what the pod sends. At the end of a connection that failed it returns what the kubelet says about that.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.explain(err)
}

// Write writes what the pod gets. Its errors are as those of Read.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.explain(err)
}

func (c *conn) explain(err error) error {
	if reason := c.reason.Load(); reason != nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)) {
		return *reason
	}
	return err
}

// Close closes the connection and waits until all is released.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.end()
	c.pumps.Wait()
	c.forget()
	return err
}
