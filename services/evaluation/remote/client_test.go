// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/krmfn/krmfn/internal/functiontest"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/remote"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/runtime"
)

const echoed = "kind: ResourceList\nitems: []\nresults:\n- message: hello\n  severity: info\n"

func request(image string) evaluation.Request {
	return evaluation.Request{Image: image, ResourceList: []byte(echoed)}
}

func long(image string, size int) evaluation.Request {
	return evaluation.Request{Image: image, ResourceList: []byte(echoed + "# " + strings.Repeat("x", size))}
}

func TestReports(t *testing.T) {
	t.Parallel()
	full := &evaluationv1.Evaluation{
		Image: "r.io/echo", Implementation: "echo v1", Stderr: []byte("log\n"), Results: []*evaluationv1.Result{{Message: "hello", Severity: "info"}},
	}
	failed := &evaluationv1.Evaluation{
		Image: "r.io/fail", Implementation: "fail v1", ExitCode: 3, Stderr: []byte("log\n"), Results: full.Results,
		Failure: &evaluationv1.Failure{Reason: evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, Message: "exit status 3"},
	}
	for name, tc := range map[string]struct {
		connect      func(t *testing.T) *remote.Client
		echo, failed *evaluationv1.Evaluation
	}{
		"krmfn": {func(t *testing.T) *remote.Client { t.Helper(); g, _ := connectV1(t); return g }, full, failed},
		"evaluator contract with details": {
			func(t *testing.T) *remote.Client { t.Helper(); return connectPorch(t, true) },
			&evaluationv1.Evaluation{Image: "echo", Stderr: []byte("log\n"), Results: full.Results}, failed,
		},
		"evaluator contract": {
			func(t *testing.T) *remote.Client { t.Helper(); return connectPorch(t, false) },
			&evaluationv1.Evaluation{Image: "echo", Stderr: []byte("log\n"), Results: full.Results},
			&evaluationv1.Evaluation{Image: "fail", ExitCode: 1, Failure: &evaluationv1.Failure{
				Message: "Failed to execute function \"fail\": exit status 3 (log\n) with structured results: [info]: hello",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := tc.connect(t)
			resp, err := g.Evaluate(t.Context(), request("echo"))
			if err != nil || string(resp.ResourceList) != echoed {
				t.Fatalf("Evaluate(echo) = %q, %v", resp.ResourceList, err)
			}
			if diff := cmp.Diff(tc.echo, resp.Report, protocmp.Transform()); diff != "" {
				t.Errorf("report of the success (-want +got):\n%s", diff)
			}
			resp, err = g.Evaluate(t.Context(), request("fail"))
			if err != nil || resp.ResourceList != nil {
				t.Fatalf("Evaluate(fail) = %q, %v", resp.ResourceList, err)
			}
			if diff := cmp.Diff(tc.failed, resp.Report, protocmp.Transform()); diff != "" {
				t.Errorf("report of the failure (-want +got):\n%s", diff)
			}
			var notFound *evaluation.NotFoundError
			if _, err := g.Evaluate(t.Context(), request("unknown")); !errors.As(err, &notFound) || notFound.Image != "unknown" {
				t.Errorf("Evaluate(unknown) = %v, want a NotFoundError", err)
			}
			if _, err := g.Evaluate(t.Context(), request("busy")); err == nil || errors.As(err, new(*remote.SizeError)) ||
				!strings.Contains(err.Error(), "runner.example: ") || !strings.Contains(err.Error(), "1 evaluations run and 2 wait already") {
				t.Errorf("Evaluate(busy) = %v, want ResourceExhausted without a SizeError", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if _, err := g.Evaluate(ctx, request("hang")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Evaluate(hang) = %v, want DeadlineExceeded", err)
			}
		})
	}
}

func TestInvalidResponses(t *testing.T) {
	t.Parallel()
	g, _ := connectV1(t)
	for _, image := range []string{"empty", "unreported"} {
		if resp, err := g.Evaluate(t.Context(), request(image)); err == nil || !strings.Contains(err.Error(), "invalid response of the function runner") {
			t.Errorf("Evaluate(%s) = %v, %v, want an error about the response", image, resp, err)
		}
	}
	g = connectPorch(t, false)
	for _, image := range []string{"empty", "garbage"} {
		resp, err := g.Evaluate(t.Context(), request(image))
		if err != nil || resp.ResourceList != nil || resp.Report.GetFailure().GetReason() != evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID {
			t.Errorf("Evaluate(%s) = %v, %v", image, resp, err)
		}
	}
}

// A runner that does not support krmfn.evaluator.v1 gets one such call, unary or streamed.
func TestFallsBackOnce(t *testing.T) {
	t.Parallel()
	for _, first := range []evaluation.Request{request("echo"), long("echo", maxMessage*2/3)} {
		s := &porchServer{evaluator: functionsForTests}
		var unknown atomic.Int32
		register := func(srv *grpc.Server) { evaluatorgrpc.RegisterFunctionEvaluatorServer(srv, s) }
		g := connect(t, register, grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
			unknown.Add(1)
			return status.Error(codes.Unimplemented, "unknown service")
		}))
		for i := range 3 {
			req := request("echo")
			if i == 0 {
				req = first
			}
			if resp, err := g.Evaluate(t.Context(), req); err != nil || string(resp.ResourceList) != string(req.ResourceList) {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		if s.calls.Load() != 3 || unknown.Load() != 1 {
			t.Errorf("%d calls, %d calls of unsupported methods", s.calls.Load(), unknown.Load())
		}
		if _, err := g.ListFunctions(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("ListFunctions() = %v, want ErrUnsupported", err)
		}
		if _, err := g.Prepare(t.Context(), []string{"echo"}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Prepare() = %v, want ErrUnsupported", err)
		}
	}
}

// After contractTime, the client uses krmfn.evaluator.v1 with a runner that was upgraded.
func TestFallbackExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		old, upgraded := &porchServer{evaluator: functionsForTests}, &v1Server{evaluator: functionsForTests}
		var knows atomic.Bool
		g := connect(t, func(srv *grpc.Server) {
			evaluatorgrpc.RegisterFunctionEvaluatorServer(srv, old)
			evaluatorv1grpc.RegisterFunctionEvaluatorServiceServer(srv, upgraded)
		}, grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			if info.Server == upgraded && !knows.Load() {
				return nil, status.Error(codes.Unimplemented, "unknown service")
			}
			return handle(ctx, req)
		}))
		evaluate := func() {
			if _, err := g.Evaluate(t.Context(), request("echo")); err != nil {
				t.Fatal(err)
			}
		}
		evaluate()
		knows.Store(true)
		time.Sleep(59 * time.Second)
		evaluate()
		if old.calls.Load() != 2 || upgraded.unary.Load() != 0 {
			t.Errorf("within a minute: %d calls of Porch's contract, %d of krmfn.evaluator.v1", old.calls.Load(), upgraded.unary.Load())
		}
		time.Sleep(2 * time.Second)
		evaluate()
		evaluate()
		if old.calls.Load() != 2 || upgraded.unary.Load() != 2 {
			t.Errorf("after a minute: %d calls of Porch's contract, %d of krmfn.evaluator.v1", old.calls.Load(), upgraded.unary.Load())
		}
	})
}

func TestStreamsLongLists(t *testing.T) {
	t.Parallel()
	g, s := connectV1(t)
	for size, wantStreamed := range map[int]bool{10: false, maxMessage / 2: true, 3 * maxMessage: true} {
		before := s.streamed.Load()
		req := long("echo", size)
		resp, err := g.Evaluate(t.Context(), req)
		if err != nil || string(resp.ResourceList) != string(req.ResourceList) || resp.Report.GetImage() != "r.io/echo" {
			t.Errorf("Evaluate() with %d bytes = %v", size, err)
		}
		if streamed := s.streamed.Load() > before; streamed != wantStreamed {
			t.Errorf("%d bytes: streamed = %v", size, streamed)
		}
	}
	if resp, err := g.Evaluate(t.Context(), long("fail", maxMessage)); err != nil || resp.Report.GetExitCode() != 3 {
		t.Errorf("Evaluate(fail) = %v, %v, want exit code 3", resp, err)
	}
	if _, err := g.Evaluate(t.Context(), long("unknown", maxMessage)); !errors.As(err, new(*evaluation.NotFoundError)) {
		t.Errorf("Evaluate(unknown) = %v, want a NotFoundError", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := g.Evaluate(ctx, long("hang", maxMessage)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Evaluate(hang) = %v, want DeadlineExceeded", err)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	v1, _ := connectV1(t)
	porch := connectPorch(t, true)
	if _, err := porch.Evaluate(t.Context(), request("echo")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		g          *remote.Client
		req        evaluation.Request
		limit      int64
		flag       string
		atLeast    int64
		wantInText string
	}{
		"request to Porch's runner":       {porch, long("echo", 2*maxMessage), maxMessage, "--max-request-body-size", 2 * maxMessage, "the same value"},
		"response of a unary call":        {v1, request("grow"), maxMessage, "--max-request-body-size", 2 * maxMessage, "the same value"},
		"list over the runner's limit":    {v1, long("echo", 9*maxMessage), 4 * maxMessage, "--max-resource-list-size", 9 * maxMessage, "both the function runner and its caller"},
		"output over the client's limit":  {v1, long("grow", 3*maxMessage+500), 5 * maxMessage, "--max-resource-list-size", 5 * maxMessage, "grow"},
		"output over the request's limit": {v1, evaluation.Request{Image: "echo", ResourceList: long("echo", maxMessage).ResourceList, MaxOutput: 100}, 100, "--max-resource-list-size", 100, "echo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tc.g.Evaluate(t.Context(), tc.req)
			var size *remote.SizeError
			if !errors.As(err, &size) || size.Limit != tc.limit || size.Size < tc.atLeast || size.Flag != tc.flag {
				t.Fatalf("Evaluate() = %v, want a SizeError with limit %d and flag %s", err, tc.limit, tc.flag)
			}
			for _, part := range []string{strconv.FormatInt(size.Size, 10), strconv.FormatInt(size.Limit, 10), tc.flag, tc.wantInText} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not contain %q", err, part)
				}
			}
		})
	}
}

func TestPrepareAndList(t *testing.T) {
	t.Parallel()
	g, _ := connectV1(t)
	prepared, err := g.Prepare(t.Context(), []string{"a", "b"})
	if err != nil || len(prepared) != 2 || prepared[1].GetImage() != "b" {
		t.Errorf("Prepare() = %v, %v", prepared, err)
	}
	listed, err := g.ListFunctions(t.Context())
	if err != nil || len(listed) != 1 || listed[0].GetName() != "echo" {
		t.Errorf("ListFunctions() = %v, %v", listed, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.ListFunctions(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ListFunctions() after cancellation = %v, want Canceled", err)
	}
}

// Rendering through a function runner gives the same package as rendering in process.
func TestRenderThroughARunner(t *testing.T) {
	t.Parallel()
	s := &v1Server{evaluator: runtime.Builtin{Functions: functiontest.Functions()}, maxList: 4 * maxMessage}
	g := connect(t, func(server *grpc.Server) { evaluatorv1grpc.RegisterFunctionEvaluatorServiceServer(server, s) })
	files := map[string]string{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n" +
			"  - {image: set-labels, configMap: {a: b}}\n  - {image: set-namespace, configMap: {namespace: shop}}\n",
	}
	for i := range 20 {
		name := "cm-" + strconv.Itoa(i)
		files[name+".yaml"] = "# head\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + " # line\n"
	}
	var outputs [][]packages.Change
	for _, evaluator := range []evaluation.Evaluator{g, runtime.Builtin{Functions: functiontest.Functions()}} {
		source, err := packages.NewMemory(files)
		if err != nil {
			t.Fatal(err)
		}
		result, err := render.Package(t.Context(), source, render.Options{Evaluator: evaluator, ImagePrefix: reference.CatalogPrefix})
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, result.Output.Changes)
	}
	if diff := cmp.Diff(outputs[1], outputs[0]); diff != "" || len(outputs[0]) != 21 {
		t.Errorf("%d changes (-in process +through the runner):\n%s", len(outputs[0]), diff)
	}
	if s.unary.Load()+s.streamed.Load() != 2 || s.streamed.Load() == 0 {
		t.Errorf("%d unary calls and %d streams, want both", s.unary.Load(), s.streamed.Load())
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	conn, err := grpc.NewClient("passthrough:///runner.example", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, errors.New("refused") }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	g := remote.New(conn, remote.Limits{})
	for _, call := range []func() error{
		func() error { _, err := g.Evaluate(t.Context(), request("echo")); return err },
		func() error { _, err := g.ListFunctions(t.Context()); return err },
	} {
		if err := call(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "function runner at passthrough:///runner.example: ") {
			t.Errorf("error = %v, want Unavailable with the runner's address", err)
		}
	}
}
