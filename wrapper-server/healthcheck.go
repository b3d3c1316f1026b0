// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
)

const (
	// streamID is the HTTP/2 stream of the request.
	streamID = 1
	// prefixBytes is the size of the prefix of a gRPC message: a compression flag and the length.
	prefixBytes = 5
	// maxFrameBytes is the smallest maximum frame size that HTTP/2 allows.
	maxFrameBytes = 16 << 10
	// maxMessageBytes limits the response, which has a few bytes.
	maxMessageBytes = 1 << 10
)

// checkHealth requests the health of a service on a new connection. It writes HTTP/2 frames, whose code the server contains anyway: gRPC's
// client would add 0.4 MB to every function pod.
func checkHealth(conn net.Conn, service string) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	request, err := proto.Marshal(&grpc_health_v1.HealthCheckRequest{Service: service})
	if err != nil {
		return 0, err
	}
	message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request))), request...) //nolint:gosec // G115: as short as an argument
	var header bytes.Buffer
	encoder := hpack.NewEncoder(&header)
	for _, field := range []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: grpc_health_v1.Health_Check_FullMethodName},
		{Name: ":authority", Value: "localhost"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	} {
		_ = encoder.WriteField(field) // a buffer accepts all writes
	}
	frames := http2.NewFramer(conn, conn)
	frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	frames.SetMaxReadFrameSize(maxFrameBytes)
	_, err = conn.Write([]byte(http2.ClientPreface))
	err = errors.Join(err, frames.WriteSettings(),
		frames.WriteHeaders(http2.HeadersFrameParam{StreamID: streamID, BlockFragment: header.Bytes(), EndHeaders: true}),
		frames.WriteData(streamID, true, message))
	if err != nil {
		return 0, err
	}
	return readResponse(frames)
}

// readResponse reads frames until the response is complete.
func readResponse(frames *http2.Framer) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	var message []byte
	for {
		frame, err := frames.ReadFrame()
		if err != nil {
			return 0, err
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = frames.WriteSettingsAck()
			}
		case *http2.DataFrame:
			if message = append(message, f.Data()...); len(message) > maxMessageBytes {
				err = errors.New("the response is longer than a response of the health service")
			}
		case *http2.MetaHeadersFrame:
			if f.StreamEnded() {
				return parseResponse(f.RegularFields(), message)
			}
		case *http2.RSTStreamFrame:
			err = fmt.Errorf("the server reset the request: %v", f.ErrCode)
		case *http2.GoAwayFrame:
			err = fmt.Errorf("the server closed the connection: %v", f.ErrCode)
		}
		if err != nil {
			return 0, err
		}
	}
}

// parseResponse returns the status in a response, which consists of trailers and a message with its prefix.
func parseResponse(trailers []hpack.HeaderField, message []byte) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	fields := map[string]string{}
	for _, field := range trailers {
		fields[field.Name] = field.Value
	}
	if code := fields["grpc-status"]; code != "0" {
		return 0, fmt.Errorf("gRPC status %q: %s", code, fields["grpc-message"])
	}
	if len(message) < prefixBytes {
		return 0, errors.New("the response has no message")
	}
	var response grpc_health_v1.HealthCheckResponse
	if err := proto.Unmarshal(message[prefixBytes:], &response); err != nil {
		return 0, fmt.Errorf("parse the response: %w", err)
	}
	return response.GetStatus(), nil
}
