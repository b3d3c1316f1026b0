// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package hostiletest attacks gRPC servers with HTTP/2 frames that gRPC clients do not send. All attacks have limits for count
// and time.
package hostiletest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Target is the server to attack.
type Target struct {
	// Address is host:port.
	Address string
	// TLS configures TLS; nil means plain text.
	TLS *tls.Config
	// Method is the gRPC method to call, in the form /service/method.
	Method string
}

// bufferSize is the size in bytes of the write buffer, which makes small frames fast.
const bufferSize = 32 << 10

// client is an HTTP/2 client with control over each frame.
type client struct {
	net.Conn
	// framer writes to buffer. The client flushes it at the end of an attack.
	framer *http2.Framer
	buffer *bufio.Writer
	method string
	// stream is the ID of the last opened stream.
	stream uint32
	// extended is closed when the server enlarges the initial window of a call.
	extended chan struct{}
}

// dial opens a connection until ctx ends, without the HTTP/2 handshake. A deaf client never reads.
func (t Target) dial(ctx context.Context, deaf bool) (*client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", t.Address)
	if err != nil {
		return nil, err
	}
	if deaf {
		// With a small receive buffer, responses soon fill the server's buffers.
		if err := conn.(*net.TCPConn).SetReadBuffer(1); err != nil { //nolint:forcetypeassert // see the network above
			return nil, err
		}
	}
	if t.TLS != nil {
		secure := tls.Client(conn, t.TLS)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS handshake with %s: %w", t.Address, err)
		}
		conn = secure
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	buffer := bufio.NewWriterSize(conn, bufferSize)
	framer := http2.NewFramer(buffer, nil)
	framer.AllowIllegalWrites = true
	return &client{Conn: conn, framer: framer, buffer: buffer, method: t.Method, stream: 1, extended: make(chan struct{})}, nil
}

// connect opens a connection with the HTTP/2 handshake.
func (t Target) connect(ctx context.Context, deaf bool) (*client, error) {
	c, err := t.dial(ctx, deaf)
	if err != nil {
		return nil, err
	}
	if _, err := c.buffer.WriteString(http2.ClientPreface); err != nil {
		return nil, err
	}
	if err := c.framer.WriteSettings(); err != nil {
		return nil, err
	}
	if !deaf {
		go c.read()
	}
	return c, nil
}

// read reads until the connection ends.
func (c *client) read() {
	framer := http2.NewFramer(nil, c)
	extend := sync.OnceFunc(func() { close(c.extended) })
	defer extend()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		if f, ok := frame.(*http2.WindowUpdateFrame); ok && f.StreamID != 0 {
			extend()
		}
	}
}

// begin begins a call with a given size of metadata in bytes.
func (c *client) begin(metadata int) error {
	return c.send(c.block("POST", metadata))
}

// send begins a call with the encoded headers in block.
func (c *client) send(block []byte) error {
	c.stream += 2
	const maxFrame = 16 << 10
	first := block[:min(len(block), maxFrame)]
	err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: first, EndHeaders: len(first) == len(block)})
	for rest := block[len(first):]; err == nil && len(rest) > 0; {
		n := min(len(rest), maxFrame)
		err = c.framer.WriteContinuation(c.stream, n == len(rest), rest[:n])
		rest = rest[n:]
	}
	return err
}

// block returns the encoded headers of a call.
func (c *client) block(verb string, metadata int) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0)
	field := func(name, value string) {
		_ = encoder.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: true})
	}
	field(":method", verb)
	field(":scheme", "http")
	field(":path", c.method)
	field(":authority", "hostile")
	field("content-type", "application/grpc")
	field("te", "trailers")
	const value = 1000
	for i := 0; metadata > 0; i++ {
		// Huffman coding does not shorten these bytes.
		field(fmt.Sprintf("x-%d", i), string(bytes.Repeat([]byte{'!'}, min(metadata, value))))
		metadata -= value
	}
	return block.Bytes()
}

// announce sends the prefix of a message with a given size.
func (c *client) announce(size uint32) error {
	return c.framer.WriteData(c.stream, false, binary.BigEndian.AppendUint32([]byte{0}, size))
}
