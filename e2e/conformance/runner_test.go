// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

func call(ctx context.Context, c evaluatorgrpc.FunctionEvaluatorClient, image string, list []byte) (*evaluator.EvaluateFunctionResponse, error) {
	return c.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: image, ResourceList: list})
}

// configMaps returns a list of n ConfigMaps with a functionConfig for set-labels.
func configMaps(n int) []byte {
	var list bytes.Buffer
	list.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n")
	if n > 0 {
		list.WriteString("items:\n")
	}
	for i := range n {
		fmt.Fprintf(&list, "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: cm-%05d\n  data:\n    key: value\n", i)
	}
	list.WriteString("functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: function-input\n  data:\n    team: platform\n")
	return list.Bytes()
}

// stop stops a runner and fails the test unless it exits with code 0.
func stop(t *testing.T, runner interface{ Stop() error }) {
	t.Helper()
	if err := runner.Stop(); err != nil {
		t.Error(err)
	}
}

func TestLargeLists(t *testing.T) {
	t.Parallel()
	runner, client := startRunner(t, "--max-request-body-size=20000000")
	defer stop(t, runner)
	for _, n := range []int{0, 1, 5000} {
		resp, err := call(t.Context(), client, "set-labels:v1", configMaps(n))
		if err != nil {
			t.Fatalf("%d resources: %v", n, err)
		}
		if got := bytes.Count(resp.GetResourceList(), []byte("team: platform")); got != n+1 {
			t.Errorf("resources with the label = %d, want %d", got-1, n)
		}
	}
}

func TestConcurrentCallers(t *testing.T) {
	t.Parallel()
	runner, client := startRunner(t)
	defer stop(t, runner)
	var callers sync.WaitGroup
	for caller := range 20 {
		callers.Go(func() {
			list := configMaps(caller + 1)
			for range 3 {
				resp, err := call(t.Context(), client, "set-labels:v1", list)
				if err != nil || bytes.Count(resp.GetResourceList(), []byte("team: platform")) != caller+2 {
					t.Errorf("caller %d: got the response of another call, or error %v", caller, err)
				}
			}
		})
	}
	callers.Wait()
}

// Each kind of misbehaviour results in a defined code, and leaves no processes, goroutines or files behind.
func TestHostileFunctions(t *testing.T) {
	port, temporary := freePort(t), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for key, value := range map[string]string{
		"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_EXPORTER_PROMETHEUS_HOST": "127.0.0.1", "OTEL_EXPORTER_PROMETHEUS_PORT": port,
	} {
		t.Setenv(key, value)
	}
	runner, client := startRunner(t, "--max-evaluation-time=1s", "--standby-processes=0")
	list := configMaps(10)
	if _, err := call(t.Context(), client, "echo:v1", list); err != nil {
		t.Fatal(err)
	}
	before := goroutines(t, port)
	for name, want := range map[string]codes.Code{
		"hang": codes.DeadlineExceeded, "fork-and-hang": codes.DeadlineExceeded, "escape": codes.OK, "hold-pipes": codes.OK,
		"flood": codes.ResourceExhausted, "flood-stderr": codes.OK, "early": codes.OK, "garbage": codes.Internal, "fail": codes.Internal,
		"warn": codes.OK, "unknown": codes.NotFound,
	} {
		for range 3 {
			if _, err := call(t.Context(), client, name+":v1", list); status.Code(err) != want {
				t.Errorf("%s: error = %v, want code %v", name, err, want)
			}
		}
	}
	eventually(t, "no process is left", func() bool { return len(descendants(t, runner.PID())) == 0 })
	eventually(t, "no goroutine is left", func() bool { return goroutines(t, port) <= before })
	stop(t, runner)
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("temporary files after the shutdown = %v, %v, want none", left, err)
	}
}

// Cancelling a call kills its process.
func TestCallerDisconnects(t *testing.T) {
	t.Parallel()
	runner, client := startRunner(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := call(ctx, client, "fork-and-hang:v1", nil)
		ended <- err
	}()
	var running []int
	eventually(t, "the function runs", func() bool { running = descendants(t, runner.PID()); return len(running) == 3 })
	cancel()
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("cancelled call: error = %v, want code %v", err, codes.Canceled)
	}
	// By then, a standby process for the next call runs, which also forks.
	eventually(t, "no process of the call is left", func() bool {
		return !slices.ContainsFunc(descendants(t, runner.PID()), func(pid int) bool { return slices.Contains(running, pid) })
	})
	waiting := descendants(t, runner.PID())
	stop(t, runner)
	eventually(t, "no process that waited is left", func() bool {
		return !slices.ContainsFunc(waiting, func(pid int) bool { return syscall.Kill(pid, 0) == nil })
	})
}

// On SIGTERM, the function runner lets running evaluations finish, rejects new ones, and exits with code 0. It aborts evaluations that
// exceed the drain timeout.
func TestShutdown(t *testing.T) {
	t.Parallel()
	runner, client := startRunner(t, "--drain-timeout=1s")
	ended := make(chan error, 1)
	go func() {
		_, err := call(t.Context(), client, "hang:v1", nil)
		ended <- err
	}()
	eventually(t, "the function runs", func() bool { return len(descendants(t, runner.PID())) == 1 })
	begin := time.Now()
	stop(t, runner)
	if took := time.Since(begin); took < time.Second {
		t.Errorf("shutdown took %v, want at least the drain timeout of 1s", took)
	}
	if err := <-ended; status.Code(err) != codes.Unavailable {
		t.Errorf("aborted call: error = %v, want code %v", err, codes.Unavailable)
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("functions:\n- function: nope\n  images: [a:v1]\n  color: red\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		flags []string
		code  int
		want  []string
	}{
		"an unknown flag":      {flags: []string{"--no-such-flag"}, code: 2, want: []string{"no-such-flag"}},
		"a bad value":          {flags: []string{"--port=-5"}, code: 2, want: []string{`--port is "-5"`}},
		"no config file":       {flags: []string{"--port=0", "--disable-runtimes=pod", "--config=/missing.yaml"}, code: 1, want: []string{"function-runner: ", "/missing.yaml is missing"}},
		"a strict config file": {flags: []string{"--port=0", "--disable-runtimes=pod", "--strict-config", "--config=" + bad}, code: 1, want: []string{bad + ": line 2: ", "line 4: unknown field \"functions[0].color\""}},
		"pods":                 {flags: []string{"--port=0", "--config="}, code: 1, want: []string{"WRAPPER_SERVER_IMAGE"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), filepath.Join(bin, binaries.FunctionRunner), tc.flags...).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != tc.code {
				t.Errorf("exit = %v, want code %d", err, tc.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("output = %q, want it to contain %q", out, want)
				}
			}
		})
	}
}
