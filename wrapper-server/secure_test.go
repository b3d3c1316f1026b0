// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/internal/wrapperapi"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
)

// guarded starts a server with TLS and returns its address and the address of its health service.
func guarded(t testing.TB, authorities string) (address, health string) {
	t.Helper()
	health = freeAddress(t)
	_, port, err := net.SplitHostPort(health)
	if err != nil {
		t.Fatal(err)
	}
	h := run(t, []string{wrapperapi.AuthoritiesVariable + "=" + authorities}, io.Discard,
		`test -z "$`+wrapperapi.AuthoritiesVariable+`" && cat`, "--tls", "--health-port="+port)
	t.Cleanup(func() { h.end(t) })
	return h.addr, health
}

// freeAddress returns an address that is not in use.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // only its address is needed
	return l.Addr().String()
}

// fingerprint returns the fingerprint of an authority, as function runners write it into pods.
func fingerprint(t testing.TB, authority *certificatestest.Authority) string {
	t.Helper()
	block, _ := pem.Decode(authority.PEM)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return wrapperapi.Fingerprint(certificate)
}

// client returns the TLS settings of a client. Its certificate is valid for a lifetime that began an hour ago, and it also sends the
// certificate of the authority.
func client(t testing.TB, from *certificatestest.Authority, lifetime time.Duration, names ...string) *tls.Config {
	t.Helper()
	return sending(t, from, from.PEM, lifetime, names...)
}

// sending returns the TLS settings of a client that sends further certificates after its own.
func sending(t testing.TB, from *certificatestest.Authority, further []byte, lifetime time.Duration, names ...string) *tls.Config {
	t.Helper()
	certificate, key := from.Issue(t, lifetime, names...)
	pair, err := tls.X509KeyPair(slices.Concat(certificate, further), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{
		InsecureSkipVerify:   true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil },
	}
}

func evaluate(t testing.TB, address string, config *tls.Config) error {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the result does not matter
	_, err = wrapperv1grpc.NewFunctionServiceClient(conn).Evaluate(t.Context(), &wrapperv1.EvaluateRequest{ResourceList: []byte(list)})
	return err
}

func TestOnlyFunctionRunnersMayCall(t *testing.T) {
	t.Parallel()
	const long = 24 * time.Hour
	before, now, foreign := certificatestest.New(t, "same name"), certificatestest.New(t, "same name"), certificatestest.New(t, "same name")
	address, health := guarded(t, fingerprint(t, before)+","+fingerprint(t, now))
	for name, tc := range map[string]struct {
		config *tls.Config
		want   string
	}{
		"current authority":                  {client(t, now, long, wrapperapi.RunnerName), ""},
		"previous authority":                 {client(t, before, long, wrapperapi.RunnerName), ""},
		"foreign authority of the same name": {client(t, foreign, long, wrapperapi.RunnerName), "bad certificate"},
		"foreign, sent with a trusted one":   {sending(t, foreign, now.PEM, long, wrapperapi.RunnerName), "bad certificate"},
		"without its authority":              {sending(t, now, nil, long, wrapperapi.RunnerName), "bad certificate"},
		"expired":                            {client(t, now, time.Minute, wrapperapi.RunnerName), "bad certificate"},
		"another name":                       {client(t, now, long, "pod.krmfn.dev"), "bad certificate"},
		"no name":                            {client(t, now, long), "bad certificate"},
		"no certificate":                     {&tls.Config{InsecureSkipVerify: true}, "certificate required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := evaluate(t, address, tc.config)
			if tc.want == "" && err != nil || tc.want != "" && (status.Code(err) != codes.Unavailable || !isRefusal(err, tc.want)) {
				t.Errorf("Evaluate() = %v, want %q", err, tc.want)
			}
		})
	}
	plain := dial(t, address)
	defer plain.Close() //nolint:errcheck // the result does not matter
	for name, call := range requests(plain) {
		if err := call(t.Context(), new(metadata.MD)); name != "health watch" && err == nil {
			t.Errorf("%s in plain text succeeded, want an error", name)
		}
	}
	if got := probeHealth(t.Context(), []string{"-addr", health}, io.Discard, io.Discard); got != 0 {
		t.Errorf("probe of the health port = %d, want 0", got)
	}
	other := dial(t, health)
	defer other.Close() //nolint:errcheck // the result does not matter
	_, err := wrapperv1grpc.NewFunctionServiceClient(other).Evaluate(t.Context(), &wrapperv1.EvaluateRequest{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("Evaluate() on the health port = %v, want Unimplemented", err)
	}
}

// isRefusal reports whether err means that the server rejected the client. If the connection breaks while the client writes, the client
// may see only that.
func isRefusal(err error, alert string) bool {
	for _, words := range []string{alert, "broken pipe", "connection reset", "EOF"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}

// With --tls and without authorities, the server does not start.
func TestNoAuthorities(t *testing.T) {
	t.Parallel()
	good := fingerprint(t, certificatestest.New(t, "authority"))
	for name, environ := range map[string][]string{
		"none": nil, "empty": {wrapperapi.AuthoritiesVariable + "="}, "no fingerprint": {wrapperapi.AuthoritiesVariable + "=x"},
		"short fingerprint": {wrapperapi.AuthoritiesVariable + "=" + good[:16]}, "empty second fingerprint": {wrapperapi.AuthoritiesVariable + "=" + good + ","},
	} {
		err := runServer(t.Context(), []string{"--port=0", "--health-port=0", "--tls", "--", "fn"}, environ, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), wrapperapi.AuthoritiesVariable) {
			t.Errorf("%s: runServer() = %v", name, err)
		}
	}
}

// FuzzHandshake sends arbitrary bytes instead of a handshake. The server must continue to serve function runners, and no other clients.
func FuzzHandshake(f *testing.F) {
	authority := certificatestest.New(f, "authority")
	address, health := guarded(f, fingerprint(f, authority))
	config := client(f, authority, 24*time.Hour, wrapperapi.RunnerName)
	for _, seed := range []string{
		"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03", "\x16\x03\x03\xff\xff", "\x15\x03\x03\x00\x02\x02\x28",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(sent) // the server may have closed the connection
		_ = conn.(*net.TCPConn).CloseWrite()
		if answer, err := io.ReadAll(conn); err == nil && strings.Contains(string(answer), "grpc") {
			t.Errorf("response to %q = %q", sent, answer)
		}
		if err := errors.Join(conn.Close(), evaluate(t, address, config)); err != nil {
			t.Fatal(err)
		}
		if got := probeHealth(t.Context(), []string{"-addr", health, "-rpc-timeout=1m"}, io.Discard, io.Discard); got != 0 {
			t.Fatalf("probe = %d, want 0", got)
		}
	})
}
