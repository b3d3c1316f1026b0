// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/task-handler/options"
)

const (
	foreign = head + "pipeline:\n  mutators:\n    - image: r.io/echo\n    - image: set-namespace:v9.9.9\n      configMap: {namespace: a}\n    - image: set-namespace:v0.4.5\n      configMap: {namespace: b}\n"
	hanging = head + "pipeline:\n  mutators:\n    - image: r.io/hang\n"
)

// Curated functions run in the task handler if the version matches. The function runner evaluates all others.
func TestRuntimes(t *testing.T) {
	t.Parallel()
	_, address, _ := startRunner(t)
	resp, err := client(t, func(o *options.Options) { o.FunctionRunner = address }).Render(t.Context(), request("Kptfile", foreign, "a.yaml", cm))
	if err != nil || resp.GetResult().GetStatus().GetError() != "" {
		t.Fatalf("%v: %v", err, resp.GetResult().GetStatus())
	}
	functions := resp.GetResult().GetFunctions()
	want := []evaluationv1.Evaluator{
		evaluationv1.Evaluator_EVALUATOR_POD, evaluationv1.Evaluator_EVALUATOR_POD, evaluationv1.Evaluator_EVALUATOR_BUILTIN,
	}
	for i, f := range functions {
		if f.GetEvaluator() != want[i] {
			t.Errorf("evaluator of %s = %v", f.GetFunction(), f.GetEvaluator())
		}
	}
	if functions[0].GetDigest() != "sha256:1" || functions[0].GetImplementation() != "pod-1" {
		t.Errorf("first function = %v", functions[0])
	}
}

// Without a function runner, the built-in version evaluates other tags with a warning. A digest is an error.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	handler := client(t, nil)
	const kptfile = head + "pipeline:\n  mutators:\n    - image: set-namespace:v9.9.9\n      configMap: {namespace: a}\n"
	resp, err := handler.Render(t.Context(), request("Kptfile", kptfile, "a.yaml", cm))
	if err != nil {
		t.Fatal(err)
	}
	result := resp.GetResult()
	if f := result.GetFunctions()[0]; f.GetImplementation() != "set-namespace v0.4.5" {
		t.Errorf("reported function = %v", f)
	}
	last := func(results []*evaluationv1.Result) string { return results[len(results)-1].GetMessage() }
	if got, want := last(result.GetStatus().GetResult().GetItems()[0].GetResults()), "set-namespace:v9.9.9 is evaluated by v0.4.5"; got != want {
		t.Errorf("last result = %q, want %q", got, want)
	}
	digest := strings.Replace(kptfile, "v9.9.9", "v0.4.5@sha256:"+strings.Repeat("ab", 32), 1)
	resp, err = handler.Render(t.Context(), request("Kptfile", digest, "a.yaml", cm))
	if err != nil || !strings.Contains(resp.GetResult().GetStatus().GetError(), "not found") {
		t.Errorf("digest: response %v, error %v", resp, err)
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	runner, address, _ := startRunner(t)
	handler := client(t, func(o *options.Options) { o.FunctionRunner, o.Limits.MaxConcurrent, o.Limits.MaxQueued = address, 1, 0 })
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := handler.Render(ctx, request("Kptfile", hanging, "a.yaml", cm))
		first <- err
	}()
	<-runner.hanging
	_, err := handler.Render(t.Context(), request("Kptfile", head))
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "1 renders run and 0 wait already, try again later") {
		t.Errorf("call beyond the limits: error %v", err)
	}
	details := status.Convert(err).Details()
	if len(details) != 1 || details[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration() != time.Second {
		t.Errorf("call beyond the limits: details %v", details)
	}
	cancel()
	if err := <-first; status.Code(err) != codes.Canceled {
		t.Errorf("first call: error %v", err)
	}
}

func TestMaxRenderTime(t *testing.T) {
	t.Parallel()
	_, address, _ := startRunner(t)
	handler := client(t, func(o *options.Options) { o.FunctionRunner, o.Limits.MaxRenderTime = address, 200*time.Millisecond })
	_, err := handler.Render(t.Context(), request("Kptfile", hanging, "a.yaml", cm))
	if status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "the render exceeded the limit of 200ms, see --max-render-time") {
		t.Errorf("long render: error %v", err)
	}
}

func TestCallerDisconnects(t *testing.T) {
	t.Parallel()
	runner, address, _ := startRunner(t)
	handler := client(t, func(o *options.Options) { o.FunctionRunner, o.Limits.MaxConcurrent, o.Limits.MaxQueued = address, 1, 0 })
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := handler.Render(ctx, request("Kptfile", hanging, "a.yaml", cm))
		first <- err
	}()
	<-runner.hanging
	cancel()
	if err := <-first; status.Code(err) != codes.Canceled {
		t.Errorf("canceled call: error %v", err)
	}
	// Soon, another render can run.
	for {
		_, err := handler.Render(t.Context(), request("Kptfile", head))
		if err == nil {
			return
		}
		if status.Code(err) != codes.ResourceExhausted {
			t.Fatal(err)
		}
	}
}

// During a shutdown, running renders finish. Health is NOT_SERVING before.
func TestDrain(t *testing.T) {
	t.Parallel()
	runner, address, _ := startRunner(t)
	conn, stop := start(t, func(o *options.Options) { o.FunctionRunner, o.Limits.MaxRenderTime = address, time.Second })
	health, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	waitHealth(t, health, grpc_health_v1.HealthCheckResponse_SERVING)
	done := make(chan error, 1)
	go func() {
		_, err := taskhandlerv1grpc.NewTaskHandlerServiceClient(conn).Render(context.WithoutCancel(t.Context()), request("Kptfile", hanging, "a.yaml", cm))
		done <- err
	}()
	<-runner.hanging
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	waitHealth(t, health, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if err := <-done; status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("running render: error %v, want its own timeout", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("serve() = %v", err)
	}
}

// Without curated functions, the task handler is healthy only while the function runner is.
func TestHealthOfRunner(t *testing.T) {
	t.Parallel()
	_, address, stopRunner := startRunner(t)
	conn, _ := start(t, func(o *options.Options) { o.FunctionRunner, o.Builtin = address, false })
	health, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{
		Service: taskhandlerv1grpc.TaskHandlerService_ServiceDesc.ServiceName,
	})
	if err != nil {
		t.Fatal(err)
	}
	waitHealth(t, health, grpc_health_v1.HealthCheckResponse_SERVING)
	stopRunner()
	waitHealth(t, health, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	for service, want := range map[string]grpc_health_v1.HealthCheckResponse_ServingStatus{
		grpcserver.Liveness: grpc_health_v1.HealthCheckResponse_SERVING, grpcserver.Readiness: grpc_health_v1.HealthCheckResponse_NOT_SERVING,
		// Kubernetes must not restart the task handler because of the function runner.
		"": grpc_health_v1.HealthCheckResponse_SERVING,
	} {
		got, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil || got.GetStatus() != want {
			t.Errorf("health of %q = %v (error %v), want %v", service, got.GetStatus(), err, want)
		}
	}
}

func waitHealth(t *testing.T, watch grpc_health_v1.Health_WatchClient, want grpc_health_v1.HealthCheckResponse_ServingStatus) {
	t.Helper()
	for {
		resp, err := watch.Recv()
		if err != nil {
			t.Fatalf("health did not become %v: %v", want, err)
		}
		if resp.GetStatus() == want {
			return
		}
	}
}
