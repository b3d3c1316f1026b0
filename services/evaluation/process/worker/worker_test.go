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

	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/evaluation/process/internal/processtest"
	"github.com/krmfn/krmfn/services/evaluation/process/programtest"
)

// harness is a pool of one kind of function.
type harness struct {
	*Pool
	command process.Command
	log     *bytes.Buffer
}

// serve makes a pool. It has one worker for a command, so that a call tells what another has left.
func serve(t *testing.T, kind string) *harness {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	// As the kubelet makes volumes.
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
			t.Errorf("%v is left (%v)", left, err)
		}
	})
	return h
}

// run has a list answered by whoever does.
func (h *harness) run(t *testing.T, list string) string {
	t.Helper()
	out, err := h.Run(t.Context(), h.command, []byte(list))
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("over %q: exit code %d, error %v, stderr %q", list, out.ExitCode, err, out.Stderr)
	}
	return string(out.Stdout)
}

// settle calls until a worker answers, or the command has turned out to be none.
func (h *harness) settle(t *testing.T) {
	t.Helper()
	for h.run(t, "settle") == "process settle" && h.Stats().Refused == 0 {
		select {
		case <-t.Context().Done():
			t.Fatal("no worker answers")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestOneProcessAnswersManyCalls(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	if got := h.run(t, "first"); got != "process first" {
		t.Errorf("the first call gets %q: it should not wait for a program that may be no worker", got)
	}
	h.settle(t)
	large := strings.Repeat("x", 900_000)
	for i, list := range []string{"a", "", large, "print to stderr", "b"} {
		if want, got := fmt.Sprintf("call %d: %s", i+2, list), h.run(t, list); got != want {
			t.Errorf("got %.100q, want %.100q", got, want)
		}
	}
	if got := h.Stats(); got.Started != 1 || got.Calls != 6 || got.Workers != 1 || got.Refused != 0 {
		t.Errorf("stats %+v", got)
	}
}

// What a call comes to is what it would come to in a process of its own, and the next one knows nothing of it.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		list    string
		want    process.Outcome
		wantErr string
		// spent says that the next call finds a new worker.
		spent bool
	}{
		{list: "fine", want: process.Outcome{Stdout: []byte("call 2: fine")}},
		{list: "code 3", want: process.Outcome{Stdout: []byte("call 2: code 3"), ExitCode: 3}},
		{list: "print words", want: process.Outcome{Stdout: []byte("call 2: print words"), Stderr: []byte("words")}},
		{
			list:  "print " + strings.Repeat("x", 150),
			want:  process.Outcome{Stdout: []byte("call 2: print " + strings.Repeat("x", 150)), Stderr: bytes.Repeat([]byte("x"), 100), StderrDropped: 50},
			spent: false,
		},
		{list: "exit 3", want: process.Outcome{ExitCode: 3, Stderr: []byte("last words")}, spent: true},
		{list: "exit 0", want: process.Outcome{Stderr: []byte("last words")}, spent: true},
		{list: "signal", want: process.Outcome{ExitCode: -1, Signal: syscall.SIGTERM}, spent: true},
		{list: "close", want: process.Outcome{ExitCode: -1, Signal: syscall.SIGKILL}, spent: true},
		{list: "large 1048576", want: process.Outcome{Stdout: bytes.Repeat([]byte("x"), 1<<20)}},
		{list: "large 1048577", wantErr: "output of 1048577 bytes is larger than the limit of 1048576 bytes", spent: true},
		{list: "leak", want: process.Outcome{Stdout: []byte("call 2: leak")}, spent: true},
		{list: "file", want: process.Outcome{Stdout: []byte("call 2: file")}, spent: true},
		{list: "last", want: process.Outcome{Stdout: []byte("call 2: last")}, spent: true},
		{list: "deaf", want: process.Outcome{Stdout: []byte("call 2: deaf")}, spent: true},
	} {
		t.Run(fmt.Sprintf("%.20s", test.list), func(t *testing.T) {
			t.Parallel()
			h := serve(t, "good")
			h.settle(t)
			got, err := h.Run(t.Context(), h.command, []byte(test.list))
			if got.Execute <= 0 {
				t.Errorf("it took %v", got.Execute)
			}
			got.Start, got.Execute = 0, 0
			if diff := cmp.Diff(test.wantErr, errorText(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, got, cmp.Transformer("text", func(b []byte) string { return string(b) })); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			h.settle(t)
			if started := h.Stats().Started; (started > 1) != test.spent {
				t.Errorf("%d workers have been started, spent = %v", started, test.spent)
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

// A call that hangs costs its worker at its deadline, and no other call.
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
			t.Errorf("got %+v and error %v, want a KilledError of %v", out, err, cause)
		}
	})
	processtest.WaitFor(t, func() bool { _, err := os.Stat(hangs); return err == nil })
	if got := h.run(t, "beside"); got != "process beside" {
		t.Errorf("beside a call that hangs another gets %q", got)
	}
	cancel(cause)
	calls.Wait()
	h.settle(t)
	if got := h.Stats().Started; got != 2 {
		t.Errorf("%d workers have been started, want 2", got)
	}
}

// A command that is no worker gets a process for each call, and one word in the log.
func TestCommandsThatAreNoWorkers(t *testing.T) {
	t.Parallel()
	for kind, why := range map[string]string{
		"refuses arguments": "unexpected argument",
		"talks":             "not of the protocol of workers",
		"leaves":            "it ends before",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := serve(t, kind)
			processtest.WaitFor(t, func() bool { return h.run(t, "x") == "process x" && h.Stats().Refused == 1 })
			h.run(t, "x")
			h.Close()
			if log := h.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, why) {
				t.Errorf("the log has %s", log)
			}
		})
	}
	// One that waits for the end of its input is found out after a while, and costs nothing until then.
	h := serve(t, "ignores arguments")
	for range 3 {
		if got := h.run(t, "x"); got != "process x" {
			t.Errorf("got %q", got)
		}
	}
	if got := h.Stats(); got.Started != 1 || got.Workers != 1 {
		t.Errorf("stats %+v, want one worker that has yet to greet", got)
	}
}

// What a worker writes beside its answers fails its call and ends it. Nothing of it gets into another call.
func TestGarbage(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	h.settle(t)
	out, err := h.Run(t.Context(), h.command, []byte("garbage"))
	if err != nil || len(out.Stdout) > 0 || !bytes.Contains(out.Stderr, []byte("no answer")) {
		t.Errorf("got %+v, error %v", out, err)
	}
	if got := h.run(t, "x"); got != "process x" || h.Stats().Refused != 1 {
		t.Errorf("after garbage: %q, stats %+v", got, h.Stats())
	}
	h = serve(t, "good")
	h.settle(t)
	for range 3 {
		out, err := h.Run(t.Context(), h.command, []byte("ahead"))
		if err != nil || strings.Contains(string(out.Stdout), "more") {
			t.Errorf("got %q, error %v", out.Stdout, err)
		}
	}
}

// What a worker has started in its group ends with it.
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

// A new version of an executable takes effect at the next call.
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
		t.Errorf("after the executable was replaced: %q", got)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), h.command, nil); !errors.As(err, new(*process.StartError)) {
		t.Errorf("after the executable has gone: error %v, want a StartError", err)
	}
}

// An executable that was no worker, and is replaced by one, answers as a worker.
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
	h.o.PerCommand = 3
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			for j := range 50 {
				list := fmt.Sprintf("%d-%d", i, j)
				out, err := h.Run(t.Context(), h.command, []byte(list))
				if err != nil || !strings.HasSuffix(string(out.Stdout), " "+list) {
					t.Errorf("call %s: got %q, error %v", list, out.Stdout, err)
				}
			}
		})
	}
	calls.Wait()
	if got := h.Stats(); got.Workers > 3 {
		t.Errorf("stats %+v", got)
	}
}
