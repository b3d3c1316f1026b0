// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
)

// With a certificate, the metrics port serves HTTPS only.
func TestPrometheusOverHTTPS(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_METRICS_EXPORTER", "prometheus")
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_HOST", "127.0.0.1")
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_PORT", port)
	authority := certificatestest.New(t, "authority")
	pair, err := tls.X509KeyPair(authority.Issue(t, 2*time.Hour, "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	tel, err := New(t.Context(), "test", "v0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}, GRPC{})
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority.PEM)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}}}
	defer client.CloseIdleConnections()
	for scheme, want := range map[string]string{"https": "go_memory_used", "http": "Client sent an HTTP request to an HTTPS server"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+address+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("GET with %s = %q, %v, want a body with %q", scheme, body, err, want)
		}
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
		_ = conn.Close()
		t.Error("the metrics port accepts connections after Shutdown")
	}
}

// The metrics port rejects large headers, and more than maxPerPeer connections from one address.
func TestMetricsPortHasLimits(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_METRICS_EXPORTER", "prometheus")
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_HOST", "127.0.0.1")
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_PORT", port)
	tel, err := New(t.Context(), "test", "v0", nil, GRPC{})
	if err != nil {
		t.Fatal(err)
	}
	get := func(header string) (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", http.NoBody)
		if err != nil {
			return 0, err
		}
		req.Header.Set("X", header)
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	if got, err := get(""); got != http.StatusOK {
		t.Errorf("GET = %d, %v, want %d", got, err, http.StatusOK)
	}
	if got, err := get(strings.Repeat("x", 32<<10)); got == http.StatusOK {
		t.Errorf("GET with 32 KiB of headers = %d, %v, want a failure", got, err)
	}
	var idle []net.Conn
	for range 2 * maxPerPeer {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	if _, err := get(""); err == nil {
		t.Errorf("GET with %d open connections from the same address succeeded, want an error", 2*maxPerPeer)
	}
	// Shutdown waits for new connections that have not sent a request.
	for _, conn := range idle {
		_ = conn.Close()
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
