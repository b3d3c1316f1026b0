// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("Telemetry", Label("smoke"), Ordered, ContinueOnFailure, func() {
	var collector *collector
	BeforeAll(func(ctx context.Context) {
		collector = collect(ctx)
		f.Configure(ctx, map[string]any{
			"pods": limits("30s"),
			"extraEnv": []any{
				map[string]any{"name": "OTEL_TRACES_EXPORTER", "value": "otlp"},
				map[string]any{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": collector.URL},
				map[string]any{"name": "OTEL_BSP_SCHEDULE_DELAY", "value": "100"},
			},
			"networkPolicy": map[string]any{"egress": []any{map[string]any{
				"to": []any{map[string]any{"ipBlock": map[string]any{"cidr": collector.host + "/32"}}},
			}}},
		})
	})

	It("has one trace that spans caller, function runner and wrapper server", func(ctx context.Context) {
		const trace = "0af7651916cd43dd8448eb211c80319c"
		image := f.Push(ctx, hostile.Echo)
		traced := metadata.AppendToOutgoingContext(ctx, "traceparent", "00-"+trace+"-b7ad6b7169203331-01")
		Expect(f.Evaluate(traced, image)).To(Succeed())
		Eventually(ctx, func() []string { return collector.spans(trace) }).WithTimeout(promptly).Should(ContainElements(
			"porch-function-runner: evaluator.FunctionEvaluator/EvaluateFunction",
			"porch-function-runner: acquire pod",
			"porch-function-runner: krmfn.wrapper.v1.FunctionService/Evaluate",
			HaveSuffix(": EvaluateFunction"),
		))
	})

	It("has metrics that explain a slow call", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		runners, err := f.Runners(ctx)
		Expect(err).NotTo(HaveOccurred())
		var text strings.Builder
		for _, runner := range runners {
			page, err := f.Client.CoreV1().Pods(f.Release.Namespace).ProxyGet("http", runner.Name, "9464", "/metrics", nil).DoRaw(ctx)
			Expect(err).NotTo(HaveOccurred())
			text.Write(page)
		}
		repository, _, _ := strings.Cut(image, ":v")
		for _, series := range []string{
			`krm_function_requests_total{code="ok",image="%s"`, `krm_function_duration_seconds_bucket{image="%s"`,
			`krm_function_pod_starts_total{image="%s"`, `krm_function_pods{image="%s"`, `krm_function_waiting{image="%s"`,
			`krm_function_pod_start_duration_seconds_bucket{image="%s"`,
		} {
			Expect(text.String()).To(ContainSubstring(fmt.Sprintf(series, repository)))
		}
		Expect(text.String()).To(SatisfyAll(ContainSubstring("\nrpc_server_"), ContainSubstring("\ngo_")))
	})

	It("has metrics of wrapper servers", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		page, err := f.Client.CoreV1().Pods(f.Release.FunctionNamespace).ProxyGet("http", onlyPodOf(ctx, image).Name, "9464", "/metrics", nil).DoRaw(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(page)).To(SatisfyAll(ContainSubstring("\nrpc_server_"), ContainSubstring("\ngo_")))
	})
})

// collector is an OTLP receiver for traces.
type collector struct {
	*httptest.Server
	host string

	mu sync.Mutex
	// names maps trace IDs to the services and names of their spans.
	names map[string][]string
}

// collect starts a collector on this machine until the specs of the container have ended. It uses the registry's address, which pods can
// reach.
func collect(ctx context.Context) *collector {
	GinkgoHelper()
	host, _, err := net.SplitHostPort(f.Registry)
	Expect(err).NotTo(HaveOccurred())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	Expect(err).NotTo(HaveOccurred())
	c := &collector{host: host, names: map[string][]string{}}
	c.Server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: c, ReadHeaderTimeout: time.Second}}
	c.Start()
	DeferCleanup(c.Close)
	return c
}

// ServeHTTP receives spans as OTLP over HTTP.
func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var export collectorv1.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &export) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range export.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				trace := hex.EncodeToString(span.GetTraceId())
				c.names[trace] = append(c.names[trace], service+": "+span.GetName())
			}
		}
	}
}

func (c *collector) spans(trace string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.names[trace]...)
}
