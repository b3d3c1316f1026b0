// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/services/evaluation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logLines sends each logged line to a channel.
type logLines struct {
	mu    sync.Mutex
	lines chan string
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines <- string(bytes.TrimSpace(b))
	return len(b), nil
}

// await waits for a line that contains text, and fails at the end of the test.
func (l *logLines) await(t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case line := <-l.lines:
			if strings.Contains(line, text) {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("%q was not logged", text)
		}
	}
}

func loader(t *testing.T, strict bool) (l *Loader, e *Evaluator, file string, log *logLines) {
	t.Helper()
	log = &logLines{lines: make(chan string, 100)}
	file = filepath.Join(t.TempDir(), "config.yaml")
	e = New(process.NewRunner(process.Options{ScratchRoot: t.TempDir()}), Limits{Gate: middleware.NewGate(1, 1), Memory: process.NewMemory(1<<30, 1)}, []string{"PATH=/bin:/usr/bin"}, "pre.fix", slog.New(slog.NewTextHandler(log, nil)))
	c := Config{File: file, Dir: executables(t), Strict: strict}
	return NewLoader(e, c), e, file, log
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	l, e, file, _ := loader(t, true)
	write(t, file, "functions:\n- function: good\n  images: [a:v1]\n")
	if err := l.Load(); err != nil {
		t.Fatal(err)
	}
	list := []byte("kind: ResourceList\n")
	resp, err := e.Evaluate(t.Context(), evaluation.Request{Image: "a:v1", ResourceList: list})
	if err != nil || resp.Report.GetFailure() != nil || !bytes.Equal(resp.ResourceList, list) {
		t.Errorf("Evaluate() = %v, %v, want the input without a failure", resp.Report, err)
	}
	if got := resp.Report.GetImage(); got != "pre.fix/a:v1" {
		t.Errorf("Report.Image = %q, want pre.fix/a:v1", got)
	}
	notFound := func(image string) {
		t.Helper()
		if _, err := e.Evaluate(t.Context(), evaluation.Request{Image: image}); !errors.As(err, new(*evaluation.NotFoundError)) {
			t.Errorf("Evaluate(%s) = %v, want a NotFoundError", image, err)
		}
	}
	notFound("b:v1")
	// If the executable is deleted, the call is left to the next evaluator.
	f, _, _ := e.Find("a:v1")
	if err := os.Remove(f.Path); err != nil {
		t.Fatal(err)
	}
	notFound("a:v1")
}

func TestAnyTag(t *testing.T) {
	t.Parallel()
	f := Executable{Name: "x", Images: []string{"r.io/x"}, AnyTag: true}
	e := New(nil, Limits{}, nil, "r.io", slog.New(slog.DiscardHandler), f, Executable{Name: "y", Images: []string{"r.io/x:v9"}})
	for image, want := range map[string]string{"x": "x", "x:v1": "x", "r.io/x@sha256:ab": "", "r.io/x:v1@sha256:ab": "", "r.io/x:v9": "y", "r.io/x:v9@sha256:ab": "", "other.io/x:v1": "", "a b": ""} {
		if got, _, _ := e.Find(image); got.Name != want {
			t.Errorf("Find(%s) = %q, want %q", image, got.Name, want)
		}
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	l, _, file, _ := loader(t, true)
	write(t, file, "functions:\n- function: gone\n  images: [a:v1]\n- function: good\n  images: [b:v1]\n  foo: bar\n")
	err := l.Load()
	if err == nil || !strings.Contains(err.Error(), "line 2: ") || !strings.Contains(err.Error(), "; line 6: unknown field \"functions[1].foo\"") {
		t.Errorf("Load() = %v, want each problem with its line", err)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	l, e, file, log := loader(t, false)
	write(t, file, "functions:\n- function: good\n  images: [a:v1]\n")
	if err := l.Load(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Watch(ctx) }()
	known := func(image string, want bool) {
		t.Helper()
		if _, _, got := e.Find(image); got != want {
			t.Errorf("Find(%s) found a function = %v, want %v", image, got, want)
		}
	}
	log.await(t, "functions with executables loaded")
	known("a:v1", true)

	// replace replaces the file by a rename, like editors and ConfigMap volumes. The watch may start after the first change.
	replace := func(text, logged string) {
		t.Helper()
		write(t, file+".new", text)
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
		log.await(t, logged)
	}
	replace("functions: [", "the one before it stays in force")
	known("a:v1", true)
	replace("functions:\n- function: good\n  images: [b:v1]\n", "functions with executables loaded")
	known("a:v1", false)
	known("b:v1", true)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func BenchmarkFind(b *testing.B) {
	functions := make([]Executable, 0, 1000)
	for range 1000 {
		functions = append(functions, Executable{Name: "f", Images: []string{"r.io/f" + strings.Repeat("x", len(functions)) + ":v1"}})
	}
	e := New(nil, Limits{}, nil, "r.io", slog.New(slog.DiscardHandler), functions...)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := e.Find("f:v1"); !ok {
			b.Fatal("not found")
		}
	}
}
