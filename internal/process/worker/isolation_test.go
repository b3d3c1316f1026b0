// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/krmfn/krmfn/internal/process/internal/processtest"
)

// tell creates the file that a call's deferred action waits for, and waits until the action has removed it.
func tell(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	processtest.WaitFor(t, func() bool { _, err := os.Stat(file); return err != nil })
}

// What a worker writes to standard error between two calls belongs to neither of them.
func TestNextCallDoesNotGetEarlierStderr(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	h.settle(t)
	file := filepath.Join(t.TempDir(), "told")
	h.run(t, "late-words "+file)
	tell(t, file)
	out, err := h.Run(t.Context(), h.command, []byte("next"))
	if err != nil || string(out.Stdout) != "call 3: next" || len(out.Stderr) > 0 {
		t.Errorf("next call: stdout %q, stderr %q, error %v; want the worker's answer and no stderr", out.Stdout, out.Stderr, err)
	}
}

// A worker that has written more than one answer to a call gets no further calls.
func TestNextCallDoesNotGetEarlierAnswer(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(t *testing.T, h *harness){
		"with the answer": func(t *testing.T, h *harness) {
			t.Helper()
			if got := h.run(t, "twice"); got != "the answer" {
				t.Errorf("Run() = %q, want the first answer", got)
			}
		},
		"after the answer": func(t *testing.T, h *harness) {
			t.Helper()
			file := filepath.Join(t.TempDir(), "told")
			h.run(t, "late-answer "+file)
			tell(t, file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, "good")
			h.settle(t)
			call(t, h)
			if got := h.run(t, "next"); got != "process next" {
				t.Errorf("next call: stdout %q, want the answer of a process", got)
			}
		})
	}
}

// A worker must end if the call's context ends when its answer arrives, because the context's end kills it.
func TestWorkerEndsIfContextEndsWithTheAnswer(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	started, err := h.start(h.command)
	if err != nil {
		t.Fatal(err)
	}
	w := started.(*worker)
	defer func() {
		w.end()
		<-w.gone()
	}()
	if err := w.greet(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.stdout = bufio.NewReader(readFunc(func(p []byte) (int, error) {
		n, err := w.child.Stdout.Read(p)
		cancel()
		return n, err
	}))
	out, got, err := w.call(ctx, []byte("list"), 1000)
	if err != nil || string(out.Stdout) != "call 1: list" || got != mustEnd {
		t.Errorf("call() = %q, %v, %v; want an answer and mustEnd", out.Stdout, got, err)
	}
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
