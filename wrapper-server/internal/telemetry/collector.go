// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// maxAnswer is the most bytes that are read of a collector's answer.
const maxAnswer = 64 << 10

// collector is where OTLP is sent to over HTTP.
type collector struct {
	endpoint *url.URL
	header   http.Header
	timeout  time.Duration
}

// post sends a message within the timeout. It opens a connection for each message, because there are few, and speaks
// HTTP/1.1 by itself: the client of net/http would be half a megabyte of every function pod. Redirects are errors.
func (c collector) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := c.exchange(ctx, body); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("send to %s: %w", c.endpoint.Redacted(), err)
	}
	return nil
}

func (c collector) exchange(ctx context.Context, body []byte) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// A deadline in the past ends reading and writing; it is safe beside them, and beside closing.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = c.header.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "krmfn-wrapper-server")
	req.Close = true
	if err := req.Write(conn); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, maxAnswer)), req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %d", resp.StatusCode)
	}
	return nil
}

func (c collector) dial(ctx context.Context) (net.Conn, error) {
	if c.endpoint.Scheme == "https" {
		return new(tls.Dialer).DialContext(ctx, "tcp", address(c.endpoint, "443"))
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address(c.endpoint, "80"))
}

func address(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
	}
	return net.JoinHostPort(u.Hostname(), port)
}
