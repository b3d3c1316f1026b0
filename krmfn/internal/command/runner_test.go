// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/embedded"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

// porch behaves like Porch's function runner: it has neither krmfn.evaluator.v1 nor a health service. It returns its input.
type porch struct {
	evaluatorgrpc.UnimplementedFunctionEvaluatorServer
	fail error
}

func (p porch) EvaluateFunction(_ context.Context, req *evaluator.EvaluateFunctionRequest) (*evaluator.EvaluateFunctionResponse, error) {
	return &evaluator.EvaluateFunctionResponse{ResourceList: req.GetResourceList(), Log: []byte("a line\n")}, p.fail
}

func (p porch) serve(t *testing.T) string {
	t.Helper()
	return serve(t, func(s *grpc.Server) { evaluatorgrpc.RegisterFunctionEvaluatorServer(s, p) })
}

func TestPorchRunner(t *testing.T) {
	t.Parallel()
	address := porch{}.serve(t)
	dir := newPackage(t, nil)
	before := snapshot(t, dir)
	for _, flag := range []string{"--runner", "--function-runner", "--function-runner-address"} {
		got := krmfn(t, "render", dir, "-v", flag, address).ok(t)
		contains(t, got.err, "  Stderr:\n    a line\n", "set-labels:v0.2      -        ")
	}
	unchanged(t, dir, before, "Kptfile")

	list := krmfn(t, "functions", "--runner", address)
	if list.code != failure.RunnerFailed {
		t.Errorf("exit code %d", list.code)
	}
	contains(t, list.err, "supports only Porch's calls, which do not list functions")
	contains(t, krmfn(t, "version", "--runner", address).ok(t).out, "function runner at "+address+" serves evaluator\n")
}

// What a runner answers decides the exit code: a function's failure is no trouble of the runner's.
func TestRunnerErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		code int
		want string
	}{
		"a function failed": {status.Error(codes.Internal, "Failed to execute function: exit status 1 (no)"), failure.Failed, "exit status 1 (no)"},
		"not found":         {status.Error(codes.NotFound, "no"), failure.Failed, "not found: the function runner at 127.0.0.1:"},
		"going away":        {status.Error(codes.Unavailable, "draining"), failure.RunnerFailed, "draining"},
		"busy":              {status.Error(codes.ResourceExhausted, "no room"), failure.RunnerFailed, "no room"},
		"too large":         {status.Error(codes.ResourceExhausted, "grpc: received message larger than max (7 vs. 6)"), failure.RunnerFailed, "raise --max-request-body-size"},
		"late":              {status.Error(codes.DeadlineExceeded, "too late"), failure.Failed, "too late"},
		"refused":           {status.Error(codes.PermissionDenied, "not you"), failure.RunnerFailed, "not you"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := krmfn(t, "render", newPackage(t, nil), "--runner", porch{fail: tc.err}.serve(t))
			if got.code != tc.code {
				t.Errorf("exit code %d, want %d", got.code, tc.code)
			}
			contains(t, got.err, tc.want)
		})
	}
}

// The advice about a function that a function runner lacks does not ask for the function runner that was named.
func TestRunnerLacksFunction(t *testing.T) {
	t.Parallel()
	address := porch{fail: status.Error(codes.NotFound, "no")}.serve(t)
	for image, want := range map[string]string{
		"r.io/none:v1":       "the function runner at " + address + " does not have it: see `krmfn functions --runner " + address + "`",
		"r.io/set-lables:v1": "the function runner at " + address + " does not have it: did you mean set-labels? Otherwise see `krmfn functions --runner " + address + "`",
	} {
		got := krmfn(t, "eval", newPackage(t, nil), "--runner", address, "--image", image)
		contains(t, got.err, `"`+image+`" not found: `+want)
		if strings.Contains(got.err, "name a function runner") {
			t.Errorf("eval --image %s --runner: got %s, want no advice to name a function runner", image, got.err)
		}
	}
}

func TestRunnerCannotBeUsed(t *testing.T) {
	t.Parallel()
	down := serve(t, func(s *grpc.Server) {
		h := health.NewServer()
		h.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
		grpc_health_v1.RegisterHealthServer(s, h)
	})
	useless := serve(t, func(s *grpc.Server) {
		h := health.NewServer()
		h.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING)
		h.SetServingStatus("evaluator.FunctionEvaluator", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
		grpc_health_v1.RegisterHealthServer(s, h)
	})
	dir := newPackage(t, nil)
	for address, want := range map[string]string{"127.0.0.1:1": "connection refused", down: "does not serve calls", useless: "does not serve calls"} {
		for _, args := range [][]string{{"render", dir}, {"functions"}, {"version"}, {"version", "-o", "json"}} {
			got := krmfn(t, append(args, "--runner", address)...)
			if got.code != failure.RunnerFailed {
				t.Errorf("%v: exit code %d", args, got.code)
			}
			contains(t, got.err, "error: the function runner at "+address+" cannot be used: ", want, "leave out --runner")
			if lines := strings.Count(got.err, "\n"); lines != 1 {
				t.Errorf("%v: the error has %d lines:\n%s", args, lines, got.err)
			}
		}
	}
}

// runningRunner starts a function runner, which another command calls: that of a command does.
func runningRunner(t *testing.T) *embedded.Runner {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := embedded.Start(t.Context(), embedded.Config{
		Executable: executable, ImagePrefix: strings.TrimSuffix(prefix, "/"), MaxMessageSize: 6 << 20, MaxListSize: 64 << 20, Environ: os.Environ(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestRunningRunner(t *testing.T) {
	t.Parallel()
	r := runningRunner(t)
	dir := newPackage(t, nil)
	krmfn(t, "render", dir, "--runner", r.Target()).ok(t)
	if got := snapshot(t, dir)["web.yaml"]; got != rendered()["web.yaml"] {
		t.Errorf("got %s", got)
	}
	contains(t, krmfn(t, "version", "--runner", r.Target()).ok(t).out, "serves krmfn.evaluator.v1\n")
	contains(t, krmfn(t, "functions", "--runner", r.Target()).ok(t).out, "set-labels ")
}

// hanging is a function runner that says when it is asked, and never answers.
type hanging struct {
	evaluatorv1grpc.UnimplementedFunctionEvaluatorServiceServer
	asked chan struct{}
}

func (h hanging) Evaluate(ctx context.Context, _ *evaluatorv1.EvaluateRequest) (*evaluatorv1.EvaluateResponse, error) {
	h.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h hanging) serve(t *testing.T) string {
	t.Helper()
	return serve(t, func(s *grpc.Server) { evaluatorv1grpc.RegisterFunctionEvaluatorServiceServer(s, h) })
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"render": {"render"}, "eval": {"eval", "--image=x"}, "dry run": {"render", "--dry-run"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hanging{asked: make(chan struct{})}
			dir := newPackage(t, nil)
			before := snapshot(t, dir)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-h.asked
				cancel()
			}()
			got := invocation{args: append(args, dir, "--runner", h.serve(t))}.run(ctx, t)
			if got.code != failure.Interrupted || got.out != "" {
				t.Errorf("got exit code %d and %q", got.code, got.out)
			}
			if !strings.HasSuffix(got.err, "error: interrupted: nothing was written\n") {
				t.Errorf("got %s", got.err)
			}
			unchanged(t, dir, before)
		})
	}
}

// The embedded runner's function is killed, too, and the runner is gone afterwards.
func TestInterruptedEmbedded(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	// Reading from a named pipe waits for the function to write to it.
	started := filepath.Join(t.TempDir(), "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := newPackage(t, map[string]string{"Kptfile": kptfile + "    - exec: sh -c 'echo >" + started + "; sleep 1000'\n"})
	before := snapshot(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		if _, err := os.ReadFile(started); err != nil {
			t.Error(err)
		}
	}()
	got := invocation{args: []string{"render", dir, "--isolate", "--allow-exec"}}.run(ctx, t)
	if got.code != failure.Interrupted {
		t.Errorf("exit code %d:\n%s", got.code, got.err)
	}
	unchanged(t, dir, before)
	for _, pattern := range []string{"krmfn-*", "krm-function-*"} {
		if left, err := filepath.Glob(filepath.Join(tmp, pattern)); err != nil || len(left) > 0 {
			t.Errorf("%v is left in the temporary directory, error %v", left, err)
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	h := hanging{asked: make(chan struct{}, 1)}
	dir := newPackage(t, nil)
	before := snapshot(t, dir)
	got := krmfn(t, "render", dir, "--runner", h.serve(t), "--timeout=100ms")
	if got.code != failure.Failed {
		t.Errorf("exit code %d", got.code)
	}
	contains(t, got.err, "Error: the time is up after 100ms: raise --timeout \n")
	unchanged(t, dir, before, "Kptfile")
}

// A script that does not end by itself ends with the command's time, or with the command.
func TestEndlessScript(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"Kptfile":     "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n    - image: starlark\n      configPath: script.yaml\n",
		"script.yaml": "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: endless\nsource: |\n  while True: pass\n",
	}
	for _, isolate := range []string{"--isolate=false", "--isolate"} {
		t.Run(isolate, func(t *testing.T) {
			t.Parallel()
			dir := newPackage(t, files)
			before := snapshot(t, dir)
			got := krmfn(t, "render", dir, isolate, "--timeout=100ms")
			if got.code != failure.Failed {
				t.Errorf("exit code %d", got.code)
			}
			contains(t, got.err, "Error: the time is up after 100ms: raise --timeout \n")
			unchanged(t, dir, before, "Kptfile")

			ctx, cancel := context.WithCancel(t.Context())
			before = snapshot(t, dir)
			running := &signalling{text: "[RUNNING]", seen: cancel}
			got = invocation{args: []string{"render", dir, isolate}, err: running}.run(ctx, t)
			if got.code != failure.Interrupted || !strings.HasSuffix(running.String(), "error: interrupted: nothing was written\n") {
				t.Errorf("exit code %d:\n%s", got.code, running)
			}
			unchanged(t, dir, before)
		})
	}
}

// signalling tells when a text is written to it.
type signalling struct {
	bytes.Buffer
	text string
	seen func()
}

func (s *signalling) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(s.text)) {
		s.seen()
	}
	return s.Buffer.Write(p)
}

// One message has less room than a large package; parts of a list have more.
func TestLargePackage(t *testing.T) {
	t.Parallel()
	large := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\ndata:\n  text: " + strings.Repeat("x", 200_000) + "\n"
	dir := newPackage(t, map[string]string{"large.yaml": large})
	small := []string{"render", dir, "--isolate", "--max-request-body-size=100000"}
	krmfn(t, small...).ok(t)
	got := krmfn(t, append(small, "--max-resource-list-size=150000")...)
	if got.code != failure.RunnerFailed {
		t.Errorf("exit code %d", got.code)
	}
	contains(t, got.err, "raise --max-resource-list-size")
}
