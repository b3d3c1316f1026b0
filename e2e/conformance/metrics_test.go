// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
)

// metricsAt returns the environment that makes a server export metrics at a port.
func metricsAt(port string) []string {
	return []string{"OTEL_METRICS_EXPORTER=prometheus", "OTEL_EXPORTER_PROMETHEUS_HOST=127.0.0.1", "OTEL_EXPORTER_PROMETHEUS_PORT=" + port}
}

// With TLS, metrics require a client certificate of a trusted authority, even if calls can use a token. A certificate is checked
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
		// want is part of the metrics or of the error. If the server ends the connection, the client may fail to write before it reads why.
		want string
	}{
		"plain text":                 {"http", good, "Client sent an HTTP request to an HTTPS server"},
		"no certificate":             {"https", scraper(nil), `Get "https://`},
		"another authority":          {"https", scraper(other), `Get "https://`},
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
		return strings.Contains(scrape(t, good, "https://127.0.0.1:"+port+"/metrics"), `Get "https://`)
	})
}

// Metrics of all servers exclude the content of packages and names that callers choose. Their size does not depend on the number of names.
func TestMetricsExcludeCallerData(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// start starts a server that exports metrics at a port, and returns its address.
		start func(t *testing.T, port string) string
		// want is part of the metrics after the calls.
		want string
	}{
		"function runner": {func(t *testing.T, port string) string {
			t.Helper()
			runner, _ := startRunnerWith(t, metricsAt(port))
			return runner.Addr
		}, `/set-labels",`},
		"task handler": {func(t *testing.T, port string) string {
			t.Helper()
			handler, err := server.StartWith(t.Context(), metricsAt(port), filepath.Join(bin, binaries.TaskHandler), filepath.Join(t.TempDir(), "log"))
			check(t, err)
			return handler.Addr
		}, "TaskHandlerService/Render"},
		"wrapper server": {func(t *testing.T, port string) string {
			t.Helper()
			own := freePort(t)
			wrapper := exec.CommandContext(t.Context(), filepath.Join(bin, binaries.WrapperServer), "--port="+own, "--", "cat")
			wrapper.Env = append(os.Environ(), metricsAt(port)...)
			check(t, wrapper.Start())
			t.Cleanup(func() { _ = wrapper.Wait() })
			return "127.0.0.1:" + own
		}, "FunctionEvaluator/EvaluateFunction"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := freePort(t)
			conn, err := grpc.NewClient(tc.start(t, port), grpc.WithTransportCredentials(insecure.NewCredentials()))
			check(t, err)
			defer conn.Close() //nolint:errcheck // nothing to lose
			address := "http://127.0.0.1:" + port + "/metrics"
			sendSecrets(t, conn, 0, 10)
			before := scrape(t, http.DefaultClient, address)
			sendSecrets(t, conn, 10, 300)
			after := scrape(t, http.DefaultClient, address)
			if !strings.Contains(after, tc.want) {
				t.Errorf("metrics lack %q: %.500s", tc.want, after)
			}
			if _, rest, found := strings.Cut(after, secretName); found {
				t.Errorf("metrics have a name or value of a caller, before %.100s", rest)
			}
			if b, a := strings.Count(before, "\n"), strings.Count(after, "\n"); a > b+50 {
				t.Errorf("lines of metrics after 290 more names = %d, want about %d", a, b)
			}
		})
	}
}

// secretName is a substring of all names and values that sendSecrets sends.
const secretName = "zq7secret"

// sendSecrets calls the methods of all servers, and methods that no server has. Most calls fail.
func sendSecrets(t *testing.T, conn *grpc.ClientConn, from, to int) {
	t.Helper()
	evaluate := func(image string, list []byte) {
		_, _ = call(t.Context(), evaluatorgrpc.NewFunctionEvaluatorClient(conn), image, list)
	}
	list := []byte(strings.NewReplacer("cm-00000", secretName, "value", secretName, "function-input", secretName, "platform", secretName).
		Replace(string(configMaps(1))))
	_, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
	check(t, err)
	for _, image := range []string{"echo:v1", "set-labels:v1", "fail:v1", "garbage:v1", "warn:v1"} {
		evaluate(image, list)
	}
	evaluate("set-labels:v1", []byte(secretName+": ["))
	for i := range to - from {
		name := fmt.Sprintf("%s-%d", secretName, from+i)
		evaluate("example.org/"+name+":v1", list)
		kptfile := fmt.Appendf(nil, "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: %[1]s}\npipeline: {mutators: [{image: %[1]s}]}\n", name)
		_, _ = taskhandlerv1grpc.NewTaskHandlerServiceClient(conn).Render(t.Context(), &taskhandlerv1.RenderRequest{Files: []*taskhandlerv1.File{
			{Path: "Kptfile", Content: kptfile}, {Path: name + ".yaml", Content: fmt.Appendf(nil, "apiVersion: v1\nkind: %[1]s\nmetadata: {name: %[1]s}\n", name)},
		}})
		_ = conn.Invoke(t.Context(), "/"+name+"/"+name, &emptypb.Empty{}, &emptypb.Empty{})
		_ = conn.Invoke(t.Context(), "/grpc.health.v1.Health/"+name, &emptypb.Empty{}, &emptypb.Empty{})
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

// startRunnerWith is like startRunner, with additional environment variables.
func startRunnerWith(t *testing.T, env []string, flags ...string) (*server.Process, evaluatorgrpc.FunctionEvaluatorClient) {
	t.Helper()
	runner, err := server.StartWith(t.Context(), env, filepath.Join(bin, binaries.FunctionRunner), filepath.Join(t.TempDir(), "log"),
		append(runnerFlags(t), flags...)...)
	check(t, err)
	conn, err := grpc.NewClient(runner.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return runner, evaluatorgrpc.NewFunctionEvaluatorClient(conn)
}
