// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
	"github.com/krmfn/krmfn/services/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/wrapper-server/internal/probe"
)

// guarded starts a server that only function runners with certificates of an authority may call, and returns its address and the one
// of its health.
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

// freeAddress returns an address at which nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test only needs its address
	return l.Addr().String()
}

// client returns the credentials of a client with a certificate that holds for a lifetime that began an hour ago.
func client(t testing.TB, from *certificatestest.Authority, lifetime time.Duration, names ...string) *tls.Config {
	t.Helper()
	certificate, key := from.Issue(t, lifetime, names...)
	pair, err := tls.X509KeyPair(certificate, key)
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
	defer conn.Close() //nolint:errcheck // the test has its answer
	_, err = wrapperv1grpc.NewFunctionServiceClient(conn).Evaluate(t.Context(), &wrapperv1.EvaluateRequest{ResourceList: []byte(list)})
	return err
}

func TestOnlyFunctionRunnersMayCall(t *testing.T) {
	t.Parallel()
	const long = 24 * time.Hour
	before, now, foreign := certificatestest.New(t, "same name"), certificatestest.New(t, "same name"), certificatestest.New(t, "same name")
	address, health := guarded(t, string(before.PEM)+string(now.PEM))
	for name, tc := range map[string]struct {
		config *tls.Config
		want   string
	}{
		"of the authority":                {client(t, now, long, wrapperapi.RunnerName), ""},
		"of the authority before it":      {client(t, before, long, wrapperapi.RunnerName), ""},
		"of another one of the same name": {client(t, foreign, long, wrapperapi.RunnerName), "unknown certificate authority"},
		"expired":                         {client(t, now, time.Minute, wrapperapi.RunnerName), "expired certificate"},
		"for somebody else":               {client(t, now, long, "pod.krmfn.dev"), "bad certificate"},
		"for nobody":                      {client(t, now, long), "bad certificate"},
		"none":                            {&tls.Config{InsecureSkipVerify: true}, "certificate required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := evaluate(t, address, tc.config)
			if tc.want == "" && err != nil || tc.want != "" && (status.Code(err) != codes.Unavailable || !isRefusal(err, tc.want)) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
		})
	}
	plain := dial(t, address)
	defer plain.Close() //nolint:errcheck // the test has its answer
	for name, call := range requests(plain) {
		if err := call(t.Context(), new(metadata.MD)); name != "a health watch" && err == nil {
			t.Errorf("%s in plain text is answered", name)
		}
	}
	if got := probe.Run(t.Context(), []string{"-addr", health}, io.Discard, io.Discard); got != 0 {
		t.Errorf("the probe of the health port exits with %d", got)
	}
	other := dial(t, health)
	defer other.Close() //nolint:errcheck // the test has its answer
	_, err := wrapperv1grpc.NewFunctionServiceClient(other).Evaluate(t.Context(), &wrapperv1.EvaluateRequest{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("the health port answers an evaluation with %v", err)
	}
}

// isRefusal tells whether an error is the server's refusal. A connection that breaks while the client writes may be all that it sees.
func isRefusal(err error, alert string) bool {
	for _, words := range []string{alert, "broken pipe", "connection reset", "EOF"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}

// A server that cannot know its callers does not serve.
func TestNoAuthorities(t *testing.T) {
	t.Parallel()
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))
	for name, environ := range map[string][]string{
		"none": nil, "empty": {wrapperapi.AuthoritiesVariable + "="}, "no certificate": {wrapperapi.AuthoritiesVariable + "=" + key},
	} {
		err := Run(t.Context(), []string{"--port=0", "--health-port=0", "--tls", "--", "fn"}, environ, io.Discard)
		if err == nil || !strings.Contains(err.Error(), wrapperapi.AuthoritiesVariable) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// FuzzHandshake sends a server what a client may send in place of a handshake: it goes on serving function runners, and no one else.
func FuzzHandshake(f *testing.F) {
	authority := certificatestest.New(f, "authority")
	address, health := guarded(f, string(authority.PEM))
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
		_, _ = conn.Write(sent) // the server may have hung up
		_ = conn.(*net.TCPConn).CloseWrite()
		if answer, err := io.ReadAll(conn); err == nil && strings.Contains(string(answer), "grpc") {
			t.Errorf("%q is answered with %q", sent, answer)
		}
		if err := errors.Join(conn.Close(), evaluate(t, address, config)); err != nil {
			t.Fatal(err)
		}
		if got := probe.Run(t.Context(), []string{"-addr", health, "-rpc-timeout=1m"}, io.Discard, io.Discard); got != 0 {
			t.Fatalf("the probe exits with %d", got)
		}
	})
}
