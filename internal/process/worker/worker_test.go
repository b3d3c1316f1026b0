// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/internal/processtest"
	"github.com/krmfn/krmfn/internal/process/programtest"
)

// harness is a pool with a function of one kind.
type harness struct {
	*Pool
	command process.Command
	log     *bytes.Buffer
}

// serve creates a pool. It has one worker per command, so that a call can observe what an earlier call has left.
func serve(t *testing.T, kind string) *harness {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	// The kubelet creates volumes with these permissions.
	if err := os.Chmod(scratch, 0o770|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	runner := process.NewRunner(process.Options{Limits: process.Limits{Stdout: 1 << 20, Stderr: 100}, ScratchRoot: scratch})
	h := &harness{log: new(bytes.Buffer), command: process.Command{
		Argv: []string{self}, Env: []string{"FUNCTION=" + kind, "PATH=" + os.Getenv("PATH"), "GOCOVERDIR=" + t.TempDir()}, Worker: true,
	}}
	h.Pool = NewPool(runner, Options{PerCommand: 1, Total: 4, Log: slog.New(slog.NewTextHandler(h.log, nil))})
	t.Cleanup(func() {
		h.Close()
		runner.Close()
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("%v remains (error %v)", left, err)
		}
	})
	return h
}

// run makes a call and returns its output. A worker or a process may answer the call.
func (h *harness) run(t *testing.T, list string) string {
	t.Helper()
	out, err := h.Run(t.Context(), h.command, []byte(list))
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("list %q: exit code %d, error %v, stderr %q", list, out.ExitCode, err, out.Stderr)
	}
	return string(out.Stdout)
}

// settle makes calls until a worker answers, or the command is known not to support the protocol.
func (h *harness) settle(t *testing.T) {
	t.Helper()
	for h.run(t, "settle") == "process settle" && h.Stats().Refused == 0 {
		select {
		case <-t.Context().Done():
			t.Fatal("no worker has answered")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestOneProcessAnswersManyCalls(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	if got := h.run(t, "first"); got != "process first" {
		t.Errorf("first call: stdout %q, want the answer of a process, because it must not wait for a worker", got)
	}
	h.settle(t)
	large := strings.Repeat("x", 900_000)
	for i, list := range []string{"a", "", large, "print to stderr", "b"} {
		if want, got := fmt.Sprintf("call %d: %s", i+2, list), h.run(t, list); got != want {
			t.Errorf("Run() = %.100q, want %.100q", got, want)
		}
	}
	if got := h.Stats(); got.Started != 1 || got.Calls != 6 || got.Workers != 1 || got.Refused != 0 {
		t.Errorf("Stats() = %+v, want 1 worker started, 6 calls", got)
	}
}

// A worker and a process give the same outcome, and a call does not affect the next one.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		list    string
		want    process.Outcome
		wantErr string
		// newWorker means that the next call gets a new worker.
		newWorker bool
	}{
		{list: "fine", want: process.Outcome{Stdout: []byte("call 2: fine")}},
		{list: "code 3", want: process.Outcome{Stdout: []byte("call 2: code 3"), ExitCode: 3}},
		{list: "print words", want: process.Outcome{Stdout: []byte("call 2: print words"), Stderr: []byte("words")}},
		{
			list: "print " + strings.Repeat("x", 150),
			want: process.Outcome{Stdout: []byte("call 2: print " + strings.Repeat("x", 150)), Stderr: bytes.Repeat([]byte("x"), 100), StderrDropped: 50},
		},
		{list: "exit 3", want: process.Outcome{ExitCode: 3, Stderr: []byte("last words")}, newWorker: true},
		{list: "exit 0", want: process.Outcome{Stderr: []byte("last words")}, newWorker: true},
		{list: "signal", want: process.Outcome{ExitCode: -1, Signal: syscall.SIGTERM}, newWorker: true},
		{list: "close", want: process.Outcome{ExitCode: -1, Signal: syscall.SIGKILL}, newWorker: true},
		{list: "large 1048576", want: process.Outcome{Stdout: bytes.Repeat([]byte("x"), 1<<20)}},
		{list: "large 1048577", wantErr: "output of 1048577 bytes is larger than the limit of 1048576 bytes", newWorker: true},
		{list: "leak", want: process.Outcome{Stdout: []byte("call 2: leak")}, newWorker: true},
		{list: "file", want: process.Outcome{Stdout: []byte("call 2: file")}, newWorker: true},
		{list: "last", want: process.Outcome{Stdout: []byte("call 2: last")}, newWorker: true},
		{list: "deaf", want: process.Outcome{Stdout: []byte("call 2: deaf")}, newWorker: true},
	} {
		t.Run(fmt.Sprintf("%.20s", test.list), func(t *testing.T) {
			t.Parallel()
			h := serve(t, "good")
			h.settle(t)
			got, err := h.Run(t.Context(), h.command, []byte(test.list))
			if got.Execute <= 0 {
				t.Errorf("Execute = %v, want > 0", got.Execute)
			}
			got.Start, got.Execute = 0, 0
			if diff := cmp.Diff(test.wantErr, errorText(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, got, cmp.Transformer("text", func(b []byte) string { return string(b) })); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			h.settle(t)
			if started := h.Stats().Started; (started > 1) != test.newWorker {
				t.Errorf("%d workers started, want more than 1: %v", started, test.newWorker)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A call that hangs ends its worker at its deadline. Other calls succeed.
func TestDeadline(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	h.settle(t)
	hangs := filepath.Join(t.TempDir(), "hangs")
	cause := errors.New("the evaluation's maximum")
	ctx, cancel := context.WithCancelCause(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() {
		out, err := h.Run(ctx, h.command, []byte("hang "+hangs))
		if !errors.As(err, new(*process.KilledError)) || !errors.Is(err, cause) || out.Signal != syscall.SIGKILL || string(out.Stderr) != "hanging" {
			t.Errorf("Run() = %+v, error %v; want a KilledError that wraps %v", out, err, cause)
		}
	})
	processtest.WaitFor(t, func() bool { _, err := os.Stat(hangs); return err == nil })
	if got := h.run(t, "beside"); got != "process beside" {
		t.Errorf("concurrent call: stdout %q, want the answer of a process", got)
	}
	cancel(cause)
	calls.Wait()
	h.settle(t)
	if got := h.Stats().Started; got != 2 {
		t.Errorf("%d workers started, want 2", got)
	}
}

// A command that does not support the protocol gets a process for each call, and one line in the log.
func TestCommandsWithoutProtocolSupport(t *testing.T) {
	t.Parallel()
	for kind, why := range map[string]string{
		"refuses arguments": "unexpected argument",
		"talks":             "not a message of the worker protocol",
		"leaves":            "it exited before",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := serve(t, kind)
			processtest.WaitFor(t, func() bool { return h.run(t, "x") == "process x" && h.Stats().Refused == 1 })
			h.run(t, "x")
			h.Close()
			if log := h.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, why) {
				t.Errorf("log = %s, want one line with %q", log, why)
			}
		})
	}
	// A program that ignores the protocol and waits for the end of its input is detected at greetingTime. Until then calls get
	// processes.
	h := serve(t, "ignores arguments")
	for range 3 {
		if got := h.run(t, "x"); got != "process x" {
			t.Errorf("Run() = %q", got)
		}
	}
	if got := h.Stats(); got.Started != 1 || got.Workers != 1 {
		t.Errorf("Stats() = %+v, want one worker that has not greeted", got)
	}
}

// If a worker writes anything except its answers, its call fails and the worker ends. No other call gets the output.
func TestOutputOutsideAnswers(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	h.settle(t)
	out, err := h.Run(t.Context(), h.command, []byte("garbage"))
	if err != nil || len(out.Stdout) > 0 || !bytes.Contains(out.Stderr, []byte("invalid answer")) {
		t.Errorf("Run() = %+v, error %v", out, err)
	}
	if got := h.run(t, "x"); got != "process x" || h.Stats().Refused != 1 {
		t.Errorf("after garbage: stdout %q, stats %+v", got, h.Stats())
	}
	h = serve(t, "good")
	h.settle(t)
	for range 3 {
		out, err := h.Run(t.Context(), h.command, []byte("ahead"))
		if err != nil || strings.Contains(string(out.Stdout), "more") {
			t.Errorf("stdout = %q, error %v", out.Stdout, err)
		}
	}
}

// Processes that a worker has started in its group end with it.
func TestFork(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	h.settle(t)
	file := filepath.Join(t.TempDir(), "pid")
	h.run(t, "fork "+file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	processtest.WaitFor(t, func() bool {
		stat, err := os.ReadFile("/proc/" + string(text) + "/stat")
		return err != nil || bytes.Contains(stat, []byte(") Z "))
	})
}

// After the executable is replaced, the next call uses the new version.
func TestReplacedExecutable(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	self := h.command.Argv[0]
	link := filepath.Join(t.TempDir(), "function")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	h.command.Argv = []string{link}
	h.settle(t)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	programtest.Write(t, link, "#!/bin/sh\nprintf new\n")
	if got := h.run(t, "x"); got != "new" {
		t.Errorf("after the executable was replaced: stdout = %q", got)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), h.command, nil); !errors.As(err, new(*process.StartError)) {
		t.Errorf("after the executable was removed: error %v, want a StartError", err)
	}
}

// A command gets workers after its executable is replaced by one that supports the protocol.
func TestRepairedExecutable(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	self := h.command.Argv[0]
	program := filepath.Join(t.TempDir(), "function")
	programtest.Write(t, program, "#!/bin/sh\nprintf 'process x'\n")
	h.command.Argv = []string{program}
	processtest.WaitFor(t, func() bool { h.run(t, "x"); return h.Stats().Refused == 1 })
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	processtest.WaitFor(t, func() bool { return strings.HasPrefix(h.run(t, "x"), "call ") })
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	h.options.PerCommand = 3
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			for j := range 50 {
				list := fmt.Sprintf("%d-%d", i, j)
				out, err := h.Run(t.Context(), h.command, []byte(list))
				if err != nil || !strings.HasSuffix(string(out.Stdout), " "+list) {
					t.Errorf("call %s: stdout = %q, error %v", list, out.Stdout, err)
				}
			}
		})
	}
	calls.Wait()
	if got := h.Stats(); got.Workers > 3 {
		t.Errorf("Stats() = %+v, want at most 3 workers", got)
	}
}
