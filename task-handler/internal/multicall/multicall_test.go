// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package multicall_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/krmfn/krmfn/internal/functiontest"
	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/programtest"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/runtime"
	"github.com/krmfn/krmfn/task-handler/internal/multicall"
)

func TestMain(m *testing.M) {
	serveFunctions(os.Args)
	goleak.VerifyTestMain(m)
}

const list = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: function-input
  data:
    tier: web
`

// inPrograms returns the functions of the test binary.
func inPrograms() function.Set {
	named := func(name string, f func(context.Context, *fn.ResourceList) (bool, error)) function.Function {
		return function.Function{Name: name, Version: "v1.0.0", Summary: "is for tests", Process: f}
	}
	return function.NewSet(append(slices.Clone(functiontest.Functions()),
		named("crash", func(context.Context, *fn.ResourceList) (bool, error) {
			return false, syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}),
		named("grow", func(context.Context, *fn.ResourceList) (bool, error) {
			var all [][]byte
			for {
				all = append(all, make([]byte, 64<<20+len(all)))
			}
		}),
		named("hang", func(context.Context, *fn.ResourceList) (bool, error) {
			time.Sleep(time.Hour) // The runtime would end a process whose goroutines all wait in a select.
			return true, nil
		}),
		named("panic", func(context.Context, *fn.ResourceList) (bool, error) { panic("oh\nno") }),
		named("print", func(ctx context.Context, _ *fn.ResourceList) (bool, error) {
			fmt.Fprintln(function.ProgramOf(ctx).Stderr, "failed to evaluate function: not yet")
			return true, nil
		}),
		named("print-and-fail", func(ctx context.Context, rl *fn.ResourceList) (bool, error) {
			fmt.Fprintln(function.ProgramOf(ctx).Stderr, "failed to evaluate function: not yet")
			rl.Results.Infof("half way")
			return false, errors.New("line 1:\nno good")
		}),
	)...)
}

// serveFunctions runs a function if the test binary is called as a multi-call executable. Otherwise it returns.
func serveFunctions(args []string) {
	if len(args) != 2 || strings.HasPrefix(args[1], "-") {
		return
	}
	code := 1
	if f, ok := inPrograms().Lookup(args[1]); ok {
		code = function.Main(f, nil, os.Stdin, os.Stdout, os.Stderr)
	} else if args[1] == "describe" && json.NewEncoder(os.Stdout).Encode(inPrograms()) == nil {
		code = 0
	}
	syscall.Exit(code) // os.Exit would make the race detector wait for a second
}

// newProgram returns a runtime for the test binary or another executable, with the least memory that a process gets.
func newProgram(t *testing.T, path string) *multicall.Program {
	t.Helper()
	runner := process.NewRunner(process.Options{ScratchRoot: t.TempDir(), Standby: process.Standby{Processes: 1}})
	t.Cleanup(runner.Close)
	set, err := multicall.Describe(t.Context(), runner, path)
	if err != nil {
		t.Fatal(err)
	}
	return &multicall.Program{
		Path: path, Builtin: runtime.Builtin{Functions: set}, Runner: runner, Gate: middleware.NewGate(1, 10), Memory: process.NewMemory(0, 1),
	}
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Program and Builtin return the same responses.
func TestProgramMatchesBuiltin(t *testing.T) {
	t.Parallel()
	program := newProgram(t, executable(t))
	builtin := runtime.Builtin{Functions: inPrograms()}
	for _, image := range []string{"set-labels", "set-labels:v9.9.9", "fail", "panic", "print", "print-and-fail", "no-such", "set-labels@sha256:" + strings.Repeat("ab", 32)} {
		for _, input := range []string{list, "no list"} {
			t.Run(image+"/"+input[:7], func(t *testing.T) {
				t.Parallel()
				req := evaluation.Request{Image: image, ResourceList: []byte(input)}
				want, wantErr := builtin.Evaluate(t.Context(), req)
				got, err := program.Evaluate(t.Context(), req)
				ignore := protocmp.IgnoreFields(&evaluationv1.Evaluation{}, "timings")
				if diff := cmp.Diff(want, got, protocmp.Transform(), ignore); diff != "" {
					t.Errorf("response (-builtin +program):\n%s", diff)
				}
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("Evaluate() error = %v, want %v", err, wantErr)
				}
			})
		}
	}
	req := evaluation.Request{Image: "set-labels", ResourceList: []byte(list), MaxOutput: 10}
	resp, err := program.Evaluate(t.Context(), req)
	if reason := resp.Report.GetFailure().GetReason(); err != nil || reason != evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_TOO_LARGE {
		t.Errorf("Evaluate() with an output above the limit: reason %v, error %v", reason, err)
	}
}

// raceDetectorFailed is the exit code of a process whose race detector cannot allocate memory.
const raceDetectorFailed = 66

// A process that is killed or exceeds its memory limit fails only its own call.
func TestProgramProcessesFailAlone(t *testing.T) {
	t.Parallel()
	program := newProgram(t, executable(t))
	for range 2 {
		resp, err := program.Evaluate(t.Context(), evaluation.Request{Image: "crash", ResourceList: []byte(list)})
		if reason := resp.Report.GetFailure().GetReason(); err != nil || reason != evaluationv1.FailureReason_FAILURE_REASON_SIGNAL {
			t.Errorf("crash: Evaluate() = %v, %v, want a failure by a signal", resp.Report, err)
		}
		resp, err = program.Evaluate(t.Context(), evaluation.Request{Image: "grow", ResourceList: []byte(list)})
		if !errors.As(err, new(*evaluation.ExhaustedError)) && resp.Report.GetExitCode() != raceDetectorFailed {
			t.Errorf("grow: Evaluate() = %v, error %v, want an ExhaustedError", resp.Report, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := program.Evaluate(ctx, evaluation.Request{Image: "hang", ResourceList: []byte(list)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hang: Evaluate() error = %v, want the context's", err)
		}
		cancel()
		resp, err = program.Evaluate(t.Context(), evaluation.Request{Image: "set-labels", ResourceList: []byte(list)})
		if err != nil || resp.Report.GetFailure() != nil {
			t.Errorf("next call: Evaluate() = %v, %v, want success", resp.Report, err)
		}
	}
}

// Prepare starts a standby process for the first call.
func TestProgramPrepare(t *testing.T) {
	t.Parallel()
	program := newProgram(t, executable(t))
	prepared, err := program.Prepare(t.Context(), []string{"set-labels", "no-such"})
	if err != nil {
		t.Fatal(err)
	}
	want := []evaluatorv1.PrepareState{evaluatorv1.PrepareState_PREPARE_STATE_READY, evaluatorv1.PrepareState_PREPARE_STATE_NOT_FOUND}
	if len(prepared) != 2 || prepared[0].GetState() != want[0] || prepared[1].GetState() != want[1] {
		t.Errorf("Prepare() = %v, want %v", prepared, want)
	}
	if _, err := program.Evaluate(t.Context(), evaluation.Request{Image: "set-labels", ResourceList: []byte(list)}); err != nil {
		t.Fatal(err)
	}
	if used := program.Runner.StandbyOutcomes()[process.StandbyUsed]; used != 1 {
		t.Errorf("%d calls used a standby process, want 1", used)
	}
}

func TestDescribeProgramErrors(t *testing.T) {
	t.Parallel()
	runner := process.NewRunner(process.Options{ScratchRoot: t.TempDir()})
	t.Cleanup(runner.Close)
	dir := t.TempDir()
	for script, want := range map[string]string{
		"printf 'bad\\nusage' >&2; exit 3": "exit code 3: bad",
		"echo set-labels":                  "invalid character",
	} {
		path := filepath.Join(dir, strings.ReplaceAll(script, " ", "-"))
		programtest.Write(t, path, "#!/bin/sh\n"+script+"\n")
		if _, err := multicall.Describe(t.Context(), runner, path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path) {
			t.Errorf("DescribeProgram(%q) error = %v, want %q", script, err, want)
		}
	}
	if _, err := multicall.Describe(t.Context(), runner, filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("DescribeProgram() of a missing file = %v, want ErrNotExist", err)
	}
}
