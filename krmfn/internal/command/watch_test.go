// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// watching is a krmfn render --watch that runs.
type watching struct {
	dir  string
	err  *bufio.Scanner
	stop context.CancelFunc
	done chan outcome
}

func watch(t *testing.T, dir string, args ...string) *watching {
	t.Helper()
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watching{dir, bufio.NewScanner(reader), cancel, make(chan outcome, 1)}
	go func() {
		got := invocation{args: append([]string{"render", dir, "--watch"}, args...), err: writer}.run(ctx, t)
		_ = writer.Close()
		w.done <- got
	}()
	t.Cleanup(func() {
		cancel()
		_ = reader.Close()
	})
	return w
}

// idle reads the standard error until the command waits for changes, and returns what it has read.
func (w *watching) idle(t *testing.T) string {
	t.Helper()
	var lines []string
	for w.err.Scan() {
		lines = append(lines, w.err.Text())
		if strings.HasSuffix(w.err.Text(), "Press Ctrl-C to stop.") {
			return strings.Join(lines, "\n")
		}
	}
	t.Fatalf("it does not wait for changes:\n%s", strings.Join(lines, "\n"))
	return ""
}

// end interrupts the command, and returns how it ended.
func (w *watching) end() outcome {
	w.stop()
	for w.err.Scan() {
		// What is left must not hold the command up.
	}
	return <-w.done
}

// replace puts a file in place at once.
func (w *watching) replace(t *testing.T, name, content string) {
	t.Helper()
	temporary, file := filepath.Join(t.TempDir(), "x"), filepath.Join(w.dir, name)
	if err := os.WriteFile(temporary, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, file); err != nil {
		t.Fatal(err)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := watch(t, newPackage(t, nil))
	w.idle(t)
	if diff := cmp.Diff(rendered(), stateless(snapshot(t, w.dir))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// What the render itself has written does not make it render again: the next change is this one.
	w.replace(t, "web.yaml", strings.Replace(deployment, "replicas: 1", "replicas: 7", 1))
	contains(t, w.idle(t), "\nweb.yaml changed.\n", "[PASS]")
	if got, want := snapshot(t, w.dir)["web.yaml"], rendered()["web.yaml"]; got != want {
		t.Errorf("after a change (-want +got):\n%s", cmp.Diff(want, got))
	}
	w.replace(t, "net/service.yaml", service+"  type: 5\n")
	contains(t, w.idle(t), "\nnet/service.yaml changed.\n", "[FAIL]", "spec.type: got number")
	w.replace(t, "net/service.yaml", service)
	contains(t, w.idle(t), "\nnet/service.yaml changed.\n", "Successfully executed")
	w.replace(t, "new/below/service.yaml", strings.Replace(service, "name: web", "name: new", 1))
	contains(t, w.idle(t), "\nnew/below/service.yaml changed.\n", "Successfully executed")
	got := w.end()
	if got.code != failure.OK {
		t.Errorf("exit code %d", got.code)
	}
	contains(t, got.out, "-  replicas: 7 # kpt-set: ${replicas}\n+  replicas: 3 # kpt-set", "--- a/new/below/service.yaml\n")
}

// A dry run writes nothing, and shows its changes once.
func TestWatchDryRun(t *testing.T) {
	t.Parallel()
	w := watch(t, newPackage(t, nil), "--dry-run")
	before := snapshot(t, w.dir)
	w.idle(t)
	unchanged(t, w.dir, before)
	if got := w.end(); got.code != failure.OK || strings.Count(got.out, "--- a/web.yaml\n") != 1 {
		t.Errorf("exit code %d, and\n%s", got.code, got.out)
	}
}
