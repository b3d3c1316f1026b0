// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/krmfn/krmfn/services/server/certificates/certificatestest"
)

// metricsAt returns the environment that makes a server export metrics at a port.
func metricsAt(port string) []string {
	return []string{"OTEL_METRICS_EXPORTER=prometheus", "OTEL_EXPORTER_PROMETHEUS_HOST=127.0.0.1", "OTEL_EXPORTER_PROMETHEUS_PORT=" + port}
}

// With TLS, metrics require a client certificate of a trusted authority, also if calls may have a token instead. A certificate is checked
// for each request, because connections are not kept.
func TestMetricsOverTLS(t *testing.T) {
	t.Parallel()
	authority, other := certificatestest.New(t, "authority"), certificatestest.New(t, "other")
	own := newMount(t, issue(t, authority, authority.PEM, "127.0.0.1"))
	files, port := own.certificates(), freePort(t)
	runner, _ := startRunnerWith(t, metricsAt(port), "--tls-cert-file="+files.Certificate, "--tls-key-file="+files.Key, "--client-ca-file="+files.Authorities,
		"--token-audience=krmfn", "--allowed-service-accounts=*", "--kubeconfig="+newAPIServer(t).kubeconfig(t))
	defer stop(t, runner)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.PEM)
	scraper := func(signer *certificatestest.Authority) *http.Client {
		config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}
		if signer != nil {
			certificate, err := tls.X509KeyPair(signer.Issue(t, 2*time.Hour, "prometheus"))
			check(t, err)
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
		}
		transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	good := scraper(authority)
	for name, tc := range map[string]struct {
		scheme string
		client *http.Client
		// want is part of the metrics, or of the error.
		want string
	}{
		"plain text":                 {"http", good, "Client sent an HTTP request to an HTTPS server"},
		"no certificate":             {"https", scraper(nil), "tls: certificate required"},
		"another authority":          {"https", scraper(other), "tls: unknown certificate authority"},
		"certificate":                {"https", good, "krm_build_info"},
		"the same connection, again": {"https", good, "krm_build_info"},
	} {
		if got := scrape(t, tc.client, tc.scheme+"://127.0.0.1:"+port+"/metrics"); !strings.Contains(got, tc.want) {
			t.Errorf("%s: metrics = %.300s, want %q", name, got, tc.want)
		}
	}
	long := "https://127.0.0.1:" + port + "/metrics?" + strings.Repeat("x", 100_000)
	if got := scrape(t, good, long); strings.Contains(got, "krm_build_info") {
		t.Error("a request of 100,000 bytes got metrics, want it rejected")
	}
	own.update(t, map[string][]byte{"ca.crt": other.PEM})
	eventually(t, "the certificate of a removed authority is rejected", func() bool {
		return strings.Contains(scrape(t, good, "https://127.0.0.1:"+port+"/metrics"), "tls: unknown certificate authority")
	})
}

// Metrics contain nothing of packages, and no names that callers make up. Their size is independent of the number of such names.
func TestMetricsHaveNothingOfCallers(t *testing.T) {
	t.Parallel()
	const marker = "zq7secret"
	port := freePort(t)
	runner, client := startRunnerWith(t, metricsAt(port), "--max-evaluation-time=5s")
	defer stop(t, runner)
	conn, err := grpc.NewClient(runner.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	defer conn.Close() //nolint:errcheck // nothing to lose
	list := []byte(strings.NewReplacer("cm-00000", marker, "value", marker, "function-input", marker, "platform", marker).Replace(string(configMaps(1))))
	calls := func(ctx context.Context, from, to int) {
		for _, image := range []string{"echo:v1", "set-labels:v1", "fail:v1", "garbage:v1", "warn:v1"} {
			_, _ = call(ctx, client, image, list)
		}
		_, _ = call(ctx, client, "set-labels:v1", []byte(marker+": ["))
		for i := range to - from {
			name := fmt.Sprintf("%s-%d", marker, from+i)
			_, _ = call(ctx, client, "example.org/"+name+":v1", list)
			_ = conn.Invoke(ctx, "/"+name+"/"+name, &emptypb.Empty{}, &emptypb.Empty{})
		}
	}
	address := "http://127.0.0.1:" + port + "/metrics"
	calls(t.Context(), 0, 10)
	before := scrape(t, http.DefaultClient, address)
	calls(t.Context(), 10, 1000)
	after := scrape(t, http.DefaultClient, address)
	if !strings.Contains(after, `/set-labels",`) {
		t.Errorf("metrics lack the calls: %.500s", after)
	}
	for line := range strings.Lines(after) {
		if strings.Contains(line, marker) {
			t.Errorf("metrics have a name or value of a caller: %s", line)
			break
		}
	}
	if b, a := strings.Count(before, "\n"), strings.Count(after, "\n"); a > b+50 {
		t.Errorf("lines of metrics after 990 more names = %d, want about %d", a, b)
	}
}

// scrape returns the response to a request for metrics, or its error.
func scrape(t *testing.T, client *http.Client, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	check(t, err)
	response, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}
