// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/internal/wrapperapi"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const list = "kind: ResourceList\nitems: []\n"

func TestPorchContract(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script  string
		code    codes.Code
		message string
		log     string
	}{
		"success":            {script: "cat; echo hi >&2", log: "hi\n"},
		"error results":      {script: "cat; printf 'results:\\n- message: m\\n  severity: error\\n'"},
		"environment":        {script: `test "$OF_THE_IMAGE" = x && test -z "$OTEL_SERVICE_NAME" && cat`},
		"exit code":          {script: "cat; echo boom >&2; exit 2", code: codes.Internal, message: "failed to evaluate function \"img\" with stderr: boom (exit status 2)"},
		"with results":       {script: "cat; printf 'results:\\n- message: m\\n'; exit 1", code: codes.Internal, message: "failed to evaluate function \"img\" with structured results: [info]: m (exit status 1)"},
		"results and stderr": {script: "cat; printf 'results:\\n- message: m\\n'; echo boom >&2; exit 3", code: codes.Internal, message: "failed to evaluate function \"img\" with structured results: [info]: m and stderr: boom (exit status 3)"},
		"no output":          {script: "exit 4", code: codes.Internal, message: "failed to evaluate function \"img\" (exit status 4)"},
		"no ResourceList":    {script: "echo x", code: codes.Internal, message: "failed to parse the output of function \"img\" with stderr '': "},
		"output too large":   {script: "cat /dev/zero | head -c 5000", code: codes.ResourceExhausted, message: "Failed to execute function \"img\": output of 5000 bytes is larger than the limit of 1000 bytes"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, _ := start(t, tc.script, "--max-request-body-size=1000")
			resp, err := evaluatorgrpc.NewFunctionEvaluatorClient(conn).EvaluateFunction(t.Context(),
				&evaluator.EvaluateFunctionRequest{Image: "img", ResourceList: []byte(list)})
			if status.Code(err) != tc.code || !strings.HasPrefix(status.Convert(err).Message(), tc.message) {
				t.Fatalf("EvaluateFunction() = %v, want %v %q", err, tc.code, tc.message)
			}
			if err == nil && (!bytes.HasPrefix(resp.GetResourceList(), []byte(list)) || string(resp.GetLog()) != tc.log) {
				t.Errorf("list = %q, log = %q", resp.GetResourceList(), resp.GetLog())
			}
		})
	}
}

func TestFullReport(t *testing.T) {
	t.Parallel()
	conn, _ := start(t, "cat; printf 'results:\\n- message: m\\n'; exit 3")
	resp, err := wrapperv1grpc.NewFunctionServiceClient(conn).Evaluate(t.Context(), &wrapperv1.EvaluateRequest{ResourceList: []byte(list)})
	if e := resp.GetEvaluation(); err != nil || e.GetExitCode() != 3 || len(e.GetResults()) != 1 ||
		e.GetFailure().GetReason() != evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE || e.GetEvaluator() != evaluationv1.Evaluator_EVALUATOR_POD {
		t.Errorf("Evaluate() = %v, error %v", resp, err)
	}
}

// If the queue is full, a call is rejected so that it can be sent to another pod.
func TestCallIsRejectedWhenQueueIsFull(t *testing.T) {
	t.Parallel()
	conn, _ := start(t, "sleep 1000", "--max-concurrent-evaluations=1")
	client := wrapperv1grpc.NewFunctionServiceClient(conn)
	ctx, cancel := context.WithCancel(t.Context())
	const calls = 1 + waitingPerRunning + 1
	type end struct {
		err     error
		trailer metadata.MD
	}
	ended := make(chan end, calls)
	for range calls {
		go func() {
			var e end
			_, e.err = client.Evaluate(ctx, &wrapperv1.EvaluateRequest{}, grpc.Trailer(&e.trailer))
			ended <- e
		}()
	}
	e := <-ended
	if status.Code(e.err) != codes.Unavailable || !wrapperapi.Refused(e.trailer) {
		t.Errorf("Evaluate() = %v, trailer %v, want a rejection", e.err, e.trailer)
	}
	wantLoad(t, e.trailer, wrapperapi.Load{Running: 1, Waiting: waitingPerRunning})
	cancel()
	for range calls - 1 {
		if e := <-ended; status.Code(e.err) != codes.Canceled || wrapperapi.Refused(e.trailer) {
			t.Errorf("canceled call: error %v, trailer %v, want %v", e.err, e.trailer, codes.Canceled)
		}
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	_, addr := start(t, "cat")
	for _, tc := range []struct {
		args []string
		want int
	}{
		{[]string{"-addr", addr}, 0},
		{[]string{"-addr=" + addr, "-service=evaluator.FunctionEvaluator"}, 0},
		{[]string{"-addr", addr, "-service=unknown"}, 3},
		{[]string{"-addr", "127.0.0.1:1", "-connect-timeout=50ms"}, 2},
		{nil, 1},
		{[]string{"-no-such-flag"}, 1},
	} {
		if got := probeHealth(t.Context(), tc.args, io.Discard, io.Discard); got != tc.want {
			t.Errorf("probeHealth(%v) = %d, want %d", tc.args, got, tc.want)
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"--log-level=4", "--verbosity=4"} { // --verbosity is Porch's name
		o, err := parse([]string{"--port", "1", level, "--", "fn", "--port", "2"})
		if err != nil || o.port != 1 || o.logLevel != 4 || o.maxMessageSize != 6291456 || strings.Join(o.command, " ") != "fn --port 2" {
			t.Errorf("parse() = %+v, error %v", o, err)
		}
	}
	for args, want := range map[string]string{
		"":                                     "the function's command is missing",
		"--":                                   "the function's command is missing",
		"fn":                                   `unexpected argument "fn"`,
		"x -- fn":                              `unexpected argument "x"`,
		"--port=-1 -- fn":                      "--port",
		"--max-request-body-size=0 -- fn":      "--max-request-body-size",
		"--max-concurrent-evaluations=0 -- fn": "--max-concurrent-evaluations",
		"--drain-timeout=0 -- fn":              "--drain-timeout",
		"--standby-processes=-1 -- fn":         "--standby-processes",
		"--no-such-flag -- fn":                 "no-such-flag",
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parse(%q) = %v, want %q", args, err, want)
		}
	}
}

// Help goes to standard output, so that it can be piped.
func TestHelp(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if err := runServer(t.Context(), []string{"--help"}, nil, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), "\nTLS:\n") || stderr.Len() > 0 {
		t.Errorf("stdout = %q, stderr = %q, want groups of flags on stdout", &stdout, &stderr)
	}
}

// A function that supports the worker protocol answers calls in one process. Otherwise, each call gets a process.
func TestWorker(t *testing.T) {
	t.Parallel()
	frame := fmt.Sprintf(`printf '\000\000\000\000\000\000\000\%03o'`, len(list)+len("# 000000\n"))
	answer := `printf 'kind: ResourceList\nitems: []\n# %06d\n' $(($$ % 1000000))`
	asWorker := fmt.Sprintf(`printf 'krmfn worker 1\n'; while test "$(head -c 4 | wc -c)" = 4; do head -c %d >/dev/null; %s; %s; done`, len(list), frame, answer)
	evaluate := func(t *testing.T, script string, flags ...string) func() string {
		conn, _ := start(t, script, flags...)
		client := wrapperv1grpc.NewFunctionServiceClient(conn)
		return func() string {
			resp, err := client.Evaluate(t.Context(), &wrapperv1.EvaluateRequest{ResourceList: []byte(list)})
			if f := resp.GetEvaluation().GetFailure(); err != nil || f != nil {
				t.Fatalf("Evaluate(): error %v, failure %v", err, f)
			}
			return string(resp.GetResourceList())
		}
	}
	t.Run("worker", func(t *testing.T) {
		t.Parallel()
		call := evaluate(t, `test "$0" = --worker || { `+answer+`; exit; }; `+asWorker, "--worker")
		answers := map[string]bool{}
		for range 1000 {
			by := call()
			if answers[by] {
				return
			}
			answers[by] = true
		}
		t.Error("no process answered two of many calls")
	})
	for name, flags := range map[string][]string{"not a worker": {"--worker"}, "without --worker": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := evaluate(t, `test "$0" != --worker && `+answer, flags...)
			const calls = 20
			answers := map[string]bool{}
			for range calls {
				answers[call()] = true
			}
			if len(answers) != calls {
				t.Errorf("%d calls were answered by %d processes, want one each", calls, len(answers))
			}
		})
	}
}
