// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package grpcserver

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

func TestLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := Logger(slog.New(slog.NewJSONHandler(&out, nil))).With("pod", "fn-1")
	log.InfoContext(t.Context(), "started")
	if strings.Contains(out.String(), "caller") {
		t.Errorf("line without a call = %s", &out)
	}
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 4711}})
	ctx = metadata.NewIncomingContext(ctx, metadata.Pairs(requestID, strings.Repeat("r", 2*longestID)))
	out.Reset()
	log.InfoContext(ctx, "evaluated")
	for _, want := range []string{
		`"caller":"10.0.0.7:4711"`, `"request_id":"` + strings.Repeat("r", longestID) + `"`, `"pod":"fn-1"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in %s", want, &out)
		}
	}
}
