// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

// The image of the function, the request, and the timeout of a recording.
const (
	image  = "example.org/set-labels:v0.2.0"
	list   = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\nfunctionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {tier: backend}}\n"
	within = 5 * time.Minute
)

// spansOfCall is the number of spans of a call, without the caller's span: two gRPC spans, resolve, acquire pod, and the wrapper server's
// span.
const spansOfCall = 5

// record calls a function that has no pod yet, and returns the spans of the call.
func record(ctx context.Context, bin string) (traces *tracepb.TracesData, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	dir, err := os.MkdirTemp("", "tracepicture-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is temporary
	c := &collector{changed: make(chan struct{}, 1)}
	receiver := httptest.NewServer(c)
	defer receiver.Close()
	cluster := &onePod{bin: bin, changed: make(chan struct{}, 1), env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL}}
	defer cluster.stop()
	api := httptest.NewServer(cluster)
	defer api.Close()
	defer api.CloseClientConnections()
	files := map[string]string{
		"kubeconfig": fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: %q}}]\n", api.URL),
		"images": fmt.Sprintf("apiVersion: krmfn.dev/v1alpha1\nkind: ImageMetadata\nimages: [{image: %q, digest: %q, command: [%q, set-labels]}]\n",
			image, "sha256:"+strings.Repeat("a", 64), filepath.Join(bin, binaries.Functions)),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	env := []string{"WRAPPER_SERVER_IMAGE=wrapper", "OTEL_SERVICE_NAME=porch-function-runner", "OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL, "OTEL_BSP_SCHEDULE_DELAY=100"}
	runner, err := server.StartWith(ctx, env, filepath.Join(bin, binaries.FunctionRunner), filepath.Join(dir, "log"), "--disable-runtimes=exec", "--config=",
		"--kubeconfig="+filepath.Join(dir, "kubeconfig"), "--image-metadata="+filepath.Join(dir, "images"), "--wrapper-injection=init-container",
		"--pod-frontend=pod-ip", "--function-configs=off", "--pod-cache-config=", "--warm-up-pod-cache=false")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, runner.Stop()) }()
	caller, err := call(ctx, runner.Addr)
	if err != nil {
		return nil, err
	}
	for {
		found := c.trace(caller.GetTraceId())
		if len(spansOf(found)) == spansOfCall {
			found.ResourceSpans = append(found.ResourceSpans, &tracepb.ResourceSpans{
				Resource:   &resourcepb.Resource{Attributes: []*commonpb.KeyValue{{Key: "service.name", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "caller"}}}}},
				ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{caller}}},
			})
			return found, nil
		}
		select {
		case <-c.changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d spans of the call have come, want %d: %w", len(spansOf(found)), spansOfCall, ctx.Err())
		}
	}
}

// call evaluates the function with a trace context and returns the caller's span.
func call(ctx context.Context, address string) (span *tracepb.Span, err error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	span = &tracepb.Span{Name: "render package", TraceId: make([]byte, 16), SpanId: make([]byte, 8)}
	_, _ = rand.Read(span.TraceId)
	_, _ = rand.Read(span.SpanId)
	parent := "00-" + hex.EncodeToString(span.GetTraceId()) + "-" + hex.EncodeToString(span.GetSpanId()) + "-01"
	span.StartTimeUnixNano = uint64(time.Now().UnixNano())
	_, err = evaluatorgrpc.NewFunctionEvaluatorClient(conn).EvaluateFunction(metadata.AppendToOutgoingContext(ctx, "traceparent", parent),
		&evaluator.EvaluateFunctionRequest{Image: image, ResourceList: []byte(list)}, grpc.WaitForReady(true))
	span.EndTimeUnixNano = uint64(time.Now().UnixNano())
	return span, err
}

// collector is an OTLP receiver that stores spans.
type collector struct {
	changed chan struct{}

	mu       sync.Mutex
	received []*tracepb.ResourceSpans
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var export collectorpb.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &export) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.received = append(c.received, export.GetResourceSpans()...)
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// trace returns the spans of a trace.
func (c *collector) trace(id []byte) *tracepb.TracesData {
	c.mu.Lock()
	defer c.mu.Unlock()
	traces := &tracepb.TracesData{}
	for _, resource := range c.received {
		kept := &tracepb.ResourceSpans{Resource: resource.GetResource()}
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				if string(span.GetTraceId()) == string(id) {
					kept.ScopeSpans = append(kept.ScopeSpans, &tracepb.ScopeSpans{Scope: scope.GetScope(), Spans: []*tracepb.Span{span}})
				}
			}
		}
		if len(kept.GetScopeSpans()) > 0 {
			traces.ResourceSpans = append(traces.ResourceSpans, kept)
		}
	}
	return traces
}

func writeJSON(w io.Writer, value any) { _ = json.NewEncoder(w).Encode(value) }
