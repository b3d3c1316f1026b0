// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
)

// A client that sends arbitrary bytes after the HTTP/2 preface does not affect other clients.
func FuzzConnection(f *testing.F) {
	for _, seed := range connectionSeeds() {
		f.Add(seed)
	}
	listener := bufconn.Listen(1 << 16)
	dial := func() (net.Conn, error) { return listener.Dial() }
	ctx, cancel := context.WithCancel(context.Background())
	s := New(ctx, Options{MaxMessageSize: 1000, Drain: time.Second, Logger: slog.New(slog.DiscardHandler)})
	evaluatorgrpc.RegisterFunctionEvaluatorServer(s, &stub{})
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, listener) }()
	other, err := grpc.NewClient("passthrough:///server", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return dial() }))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		_ = other.Close()
		cancel()
		if err := <-served; err != nil {
			f.Error(err)
		}
	})
	health := grpc_health_v1.NewHealthClient(other)
	f.Fuzz(func(t *testing.T, frames []byte) {
		conn, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, conn) // the server may close the connection
		}()
		_, _ = conn.Write(append([]byte(http2.ClientPreface), frames...))
		_ = conn.Close()
		<-read
		if _, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: Liveness}); err != nil {
			t.Errorf("health check of another client = %v, want nil", err)
		}
	})
}

// connectionSeeds returns the frames of a call, and frames that clients rarely send.
func connectionSeeds() [][]byte {
	var header bytes.Buffer
	encoder := hpack.NewEncoder(&header)
	for _, field := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", evaluatorgrpc.FunctionEvaluator_EvaluateFunction_FullMethodName},
		{":authority", "server"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
		{"grpc-timeout", "1S"},
	} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // a bytes.Buffer does not fail
	}
	open := func(framer *http2.Framer, whole bool) {
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header.Bytes(), EndHeaders: whole})
	}
	var seeds [][]byte
	for _, write := range []func(*http2.Framer){
		func(framer *http2.Framer) {
			open(framer, true)
			_ = framer.WriteData(1, true, []byte{0, 0, 0, 0, 0})
		},
		func(framer *http2.Framer) {
			open(framer, true)
			_ = framer.WriteRSTStream(1, http2.ErrCodeCancel)
		},
		func(framer *http2.Framer) {
			open(framer, false)
			_ = framer.WriteContinuation(1, true, []byte{0x40, 1, 'a', 1, 'b'})
		},
		func(framer *http2.Framer) {
			_ = framer.WritePing(false, [8]byte{})
			_ = framer.WriteWindowUpdate(0, 1<<31-1)
			_ = framer.WriteGoAway(0, http2.ErrCodeNo, nil)
		},
	} {
		var frames bytes.Buffer
		framer := http2.NewFramer(&frames, nil)
		_ = framer.WriteSettings()
		write(framer)
		seeds = append(seeds, frames.Bytes())
	}
	return seeds
}
