// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/krmfn/krmfn/services/evaluation/process/internal/processtest"
)

// tell has a worker do what a call has put off, and returns when it is done.
func tell(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	processtest.WaitFor(t, func() bool { _, err := os.Stat(file); return err != nil })
}

// What a worker writes to standard error between two calls belongs to neither.
func TestNextCallDoesNotGetEarlierStderr(t *testing.T) {
	t.Parallel()
	h := serve(t, "good")
	h.settle(t)
	file := filepath.Join(t.TempDir(), "told")
	h.run(t, "late-words "+file)
	tell(t, file)
	out, err := h.Run(t.Context(), h.command, []byte("next"))
	if err != nil || string(out.Stdout) != "call 3: next" || len(out.Stderr) > 0 {
		t.Errorf("the next call got %q, standard error %q, error %v; want the worker's answer alone", out.Stdout, out.Stderr, err)
	}
}

// A worker that has answered more than it was asked for answers no other call.
func TestNextCallDoesNotGetEarlierAnswer(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(t *testing.T, h *harness){
		"with the answer": func(t *testing.T, h *harness) {
			t.Helper()
			if got := h.run(t, "twice"); got != "the answer" {
				t.Errorf("got %q, want the first answer", got)
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
				t.Errorf("the next call got %q, want the answer of a process", got)
			}
		})
	}
}

// A worker that is killed just after its answer, because the call's context ends, is not kept.
func TestContextThatEndsWithTheAnswerSpendsTheWorker(t *testing.T) {
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
	if err != nil || string(out.Stdout) != "call 1: list" || got != spent {
		t.Errorf("call() = %q, %v, %v; want the answer of a worker that is spent", out.Stdout, got, err)
	}
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
