// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

func (f *fixture) call(ctx context.Context, image, list string) (*evaluator.EvaluateFunctionResponse, error) {
	return f.porch.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: image, ResourceList: []byte(list)})
}

// TestPorchContract checks the responses of Porch's service.
func TestPorchContract(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	tests := map[string]struct {
		image string
		// The runner replies a twentieth of the timeout before the deadline, but at most 100 ms. On a busy machine, the test needs the
		// whole 100 ms.
		timeout time.Duration
		code    codes.Code
		message string
		output  string
		log     string
		reason  evaluationv1.FailureReason
	}{
		"success":      {image: "r.io/echo:v1", output: list},
		"a short name": {image: "echo:v1", output: list},
		"success with stderr and error results": {
			image: "warn:v1", output: list + "results:\n- message: m\n  severity: error\n", log: "careful\n",
		},
		"does not read its input": {image: "early:v1", output: "kind: ResourceList\n"},
		"sees no secrets":         {image: "secrets:v1", output: list},
		"has a TMPDIR of its own": {image: "own-tmp:v1", output: list},
		"an unknown image":        {image: "r.io/other:v1", code: codes.NotFound, message: `function "r.io/other:v1" not found`},
		"an unknown tag":          {image: "r.io/echo:v2", code: codes.NotFound, message: `function "r.io/echo:v2" not found`},
		"no image":                {image: "", code: codes.NotFound, message: `function "" not found`},
		"exit code with results":  {image: "fail:v1", code: codes.Internal, message: "Failed to execute function \"fail:v1\": exit status 1 (details\n) with structured results: [error]: bad port", reason: evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE},
		"a signal":                {image: "killed:v1", code: codes.Internal, message: `Failed to execute function "killed:v1": signal: killed ()`, reason: evaluationv1.FailureReason_FAILURE_REASON_SIGNAL},
		"garbage":                 {image: "garbage:v1", code: codes.Internal, message: `failed to parse the output of function "garbage:v1" with stderr '': the output is not a mapping`, reason: evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID},
		"no output":               {image: "silent:v1", code: codes.Internal, message: `failed to parse the output of function "silent:v1" with stderr '': the output is empty`, reason: evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID},
		"output over the limit":   {image: "large:v1", code: codes.ResourceExhausted, message: `Failed to execute function "large:v1": output of 200000 bytes is larger than the limit of 100000 bytes ()`, reason: evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_TOO_LARGE},
		"output without end":      {image: "flood:v1", code: codes.ResourceExhausted, message: `Failed to execute function "flood:v1": output of `, reason: evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_TOO_LARGE},
		"hangs":                   {image: "hang:v1", timeout: 2 * time.Second, code: codes.DeadlineExceeded, reason: evaluationv1.FailureReason_FAILURE_REASON_DEADLINE},
		"hangs with its children": {image: "fork-and-hang:v1", timeout: 2 * time.Second, code: codes.DeadlineExceeded, reason: evaluationv1.FailureReason_FAILURE_REASON_DEADLINE},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if tc.timeout > 0 {
				ctx = within(t, tc.timeout)
			}
			resp, err := f.call(ctx, tc.image, list)
			if status.Code(err) != tc.code || !strings.HasPrefix(status.Convert(err).Message(), tc.message) {
				t.Fatalf("EvaluateFunction() error = %v, want %v %q", err, tc.code, tc.message)
			}
			if got := string(resp.GetResourceList()); got != tc.output {
				t.Errorf("output = %q, want %q", got, tc.output)
			}
			if got := string(resp.GetLog()); got != tc.log {
				t.Errorf("log = %q, want %q", got, tc.log)
			}
			if got := detail(err).GetFailure().GetReason(); got != tc.reason {
				t.Errorf("reason in the status details = %v, want %v", got, tc.reason)
			}
		})
	}
}

// detail returns the report in the details of a status, or nil.
func detail(err error) *evaluationv1.Evaluation {
	for _, d := range status.Convert(err).Details() {
		if e, ok := d.(*evaluationv1.Evaluation); ok {
			return e
		}
	}
	return nil
}

func TestDetailHasTheResults(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	_, err := f.call(t.Context(), "fail:v1", list)
	report := detail(err)
	if report.GetExitCode() != 1 || string(report.GetStderr()) != "details\n" || len(report.GetResults()) != 1 ||
		report.GetResults()[0].GetMessage() != "bad port" || report.GetImage() != "r.io/fail:v1" || report.GetTimings().GetExecute() == nil {
		t.Errorf("report in the status details = %v, want exit code 1, stderr, one result, the image and timings", report)
	}
}

func TestRequestOverTheLimit(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	_, err := f.call(t.Context(), "echo:v1", strings.Repeat("x", 200_000))
	if text := status.Convert(err).Message(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(text, "larger than max (2000") || !strings.Contains(text, "vs. 100000)") {
		t.Errorf("EvaluateFunction() = %v, want ResourceExhausted with both sizes", err)
	}
}

// The error names the runner's own time limit.
func TestMaximumEvaluationTime(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *options.Options) { o.Limits.MaxEvaluationTime = 100 * time.Millisecond })
	_, err := f.call(t.Context(), "hang:v1", list)
	want := "killed: the maximum evaluation time of 100ms is over"
	if status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), want) {
		t.Errorf("EvaluateFunction() = %v, want DeadlineExceeded with %q", err, want)
	}
}

func TestManyCallers(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			for range 5 {
				if _, err := f.call(t.Context(), "echo:v1", list); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
}

// With a capacity of one running and one waiting call, the third call fails at once.
func TestBusy(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *options.Options) { o.Limits.MaxConcurrent, o.Limits.MaxQueued = 1, 1 })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := f.call(ctx, "hang:v1", list)
			ended <- err
		}()
	}
	if err := <-ended; status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "1 evaluations run and 1 wait already") {
		t.Errorf("third call = %v, want ResourceExhausted", err)
	}
	cancel()
	for range 2 {
		if err := <-ended; status.Code(err) != codes.Canceled {
			t.Errorf("cancelled call = %v, want %v", err, codes.Canceled)
		}
	}
	// The server notices the cancellation slightly later than the callers.
	err := status.Error(codes.ResourceExhausted, "")
	for status.Code(err) == codes.ResourceExhausted && t.Context().Err() == nil {
		_, err = f.call(t.Context(), "echo:v1", list)
	}
	if err != nil {
		t.Errorf("call after the cancellation = %v, want nil", err)
	}
}

// A runner without evaluators or functions is alive, but not ready.
func TestHealth(t *testing.T) {
	t.Parallel()
	const yes, no = grpc_health_v1.HealthCheckResponse_SERVING, grpc_health_v1.HealthCheckResponse_NOT_SERVING
	type health = grpc_health_v1.HealthCheckResponse_ServingStatus
	for name, tc := range map[string]struct {
		change           func(*options.Options)
		ready, anonymous health
	}{
		"with functions":     {func(o *options.Options) { o.DisableRuntimes = "pod" }, yes, yes},
		"without a runtime":  {func(o *options.Options) { o.DisableRuntimes = "exec,pod" }, no, yes},
		"without a function": {func(o *options.Options) { o.DisableRuntimes, o.Exec.Config = "pod", "" }, no, yes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, tc.change)
			for service, want := range map[string]health{
				grpcserver.Liveness: yes, grpcserver.Readiness: tc.ready, "": tc.anonymous,
				evaluatorgrpc.FunctionEvaluator_ServiceDesc.ServiceName:          tc.ready,
				evaluatorv1grpc.FunctionEvaluatorService_ServiceDesc.ServiceName: tc.ready,
			} {
				got, err := grpc_health_v1.NewHealthClient(f.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
				if err != nil || got.GetStatus() != want {
					t.Errorf("health of %q = %v (%v), want %v", service, got.GetStatus(), err, want)
				}
			}
		})
	}
}

// Without evaluators, a call fails with NotFound.
func TestNoEvaluators(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *options.Options) { o.DisableRuntimes = "exec,pod" })
	if _, err := f.call(t.Context(), "echo:v1", list); status.Code(err) != codes.NotFound {
		t.Errorf("EvaluateFunction() = %v, want %v", err, codes.NotFound)
	}
}

// A shutdown waits for running calls.
func TestDrain(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := f.call(ctx, "hang:v1", list)
		ended <- err
	}()
	// The hanging call is very likely running when a second call on the same connection has ended.
	if _, err := f.call(t.Context(), "echo:v1", list); err != nil {
		t.Fatal(err)
	}
	f.stop()
	select {
	case err := <-ended:
		t.Errorf("the running call ended with %v, want it to continue", err)
	case <-within(t, 300*time.Millisecond).Done():
	}
	cancel()
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("cancelled call = %v, want %v", err, codes.Canceled)
	}
}

// A declared worker answers several calls in one process.
func TestWorker(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	answers := map[string]bool{}
	for range 1000 {
		resp, err := f.porch.EvaluateFunction(t.Context(), &evaluator.EvaluateFunctionRequest{Image: "worker:v1", ResourceList: []byte(list)})
		if err != nil {
			t.Fatal(err)
		}
		by := string(resp.GetResourceList())
		if answers[by] {
			return
		}
		answers[by] = true
	}
	t.Error("1000 calls were answered by different processes, want a repeated one")
}
