// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/krmfn/krmfn/function-runner/internal/memo"
	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/programtest"
	"github.com/krmfn/krmfn/internal/traits"
	"github.com/krmfn/krmfn/services/evaluation"
)

// remembering is an evaluator with a result cache. Its function, which has two images, outputs the number of its runs.
type remembering struct {
	*Evaluator
	t    *testing.T
	dir  string
	path string
}

const counting = "#!/bin/sh\ncat; echo >>\"$0.runs\"; echo \"run: $(wc -l <\"$0.runs\")\"\n"

const empty = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

func newRemembering(t *testing.T, declared traits.Traits) *remembering {
	t.Helper()
	r := &remembering{t: t, dir: t.TempDir()}
	r.path = filepath.Join(r.dir, "program")
	r.program(counting)
	answers, err := memo.New(1<<20, noop.Meter{})
	if err != nil {
		t.Fatal(err)
	}
	// A standby process is already waiting. It must not answer for a program that has changed since.
	runner := process.NewRunner(process.Options{ScratchRoot: t.TempDir(), Standby: process.Standby{Processes: 1}})
	t.Cleanup(runner.Close)
	limits := Limits{Gate: middleware.NewGate(1, 1), Memory: process.NewMemory(1<<30, 1), Memo: answers}
	r.Evaluator = New(runner, limits, []string{"PATH=/bin:/usr/bin"}, "r.io", slog.New(slog.DiscardHandler),
		Executable{Name: "fn", Path: r.path, Images: []string{"fn:v1", "fn:v2"}, Traits: declared, Implementation: "program"},
		Executable{Name: "link", Path: filepath.Join(r.dir, "link"), Images: []string{"link:v1"}, Traits: declared})
	return r
}

// program replaces the program by a rename, like a package manager, so that the old file stays unchanged.
func (r *remembering) program(text string) {
	r.t.Helper()
	file := r.path + ".new"
	programtest.Write(r.t, file, text)
	if err := os.Rename(file, r.path); err != nil {
		r.t.Fatal(err)
	}
}

// wants calls an image and checks the output, and whether it came from the result cache.
func (r *remembering) wants(image, output string, cached bool) {
	r.t.Helper()
	resp, err := r.Evaluate(r.t.Context(), evaluation.Request{Image: image, ResourceList: []byte(empty)})
	if err != nil || string(resp.ResourceList) != empty+output || resp.Report.GetCached() != cached || resp.Report.GetImage() != "r.io/"+image {
		r.t.Errorf("Evaluate(%s) = %q, cached %v, image %s, error %v %v, want %q, cached %v", image, strings.TrimPrefix(string(resp.ResourceList), empty),
			resp.Report.GetCached(), resp.Report.GetImage(), err, resp.Report.GetFailure(), output, cached)
	}
}

// A deterministic executable runs once, until the file is replaced or changes.
func TestRemember(t *testing.T) {
	t.Parallel()
	r := newRemembering(t, traits.Traits{Deterministic: true})
	r.wants("fn:v1", "run: 1\n", false)
	r.wants("fn:v1", "run: 1\n", true)
	// Both images of the function share the cached result.
	r.wants("fn:v2", "run: 1\n", true)

	// A program may behave differently under another name.
	if err := os.Symlink(r.path, filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	r.wants("link:v1", "run: 1\n", false)

	// The program is replaced by another file with the same size and modification time.
	before, err := os.Stat(r.path)
	if err != nil {
		t.Fatal(err)
	}
	r.program(counting)
	if err := os.Chtimes(r.path, time.Time{}, before.ModTime()); err != nil {
		t.Fatal(err)
	}
	r.wants("fn:v1", "run: 2\n", false)
	r.wants("fn:v1", "run: 2\n", true)

	// The content of the file changes.
	programtest.Write(t, r.path, strings.ReplaceAll(counting, "run:", "RUN:"))
	r.wants("fn:v1", "RUN: 3\n", false)

	if err := os.Remove(r.path); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Evaluate(t.Context(), evaluation.Request{Image: "fn:v1", ResourceList: []byte(empty)}); err == nil {
		t.Error("Evaluate() of a deleted program = nil, want an error")
	}
}

// An executable that is not declared deterministic runs each time.
func TestRememberNothing(t *testing.T) {
	t.Parallel()
	r := newRemembering(t, traits.Traits{})
	r.wants("fn:v1", "run: 1\n", false)
	r.wants("fn:v1", "run: 2\n", false)
}

// A cached result needs no capacity of the gate and no memory.
func TestRememberedNeedsNoPlace(t *testing.T) {
	t.Parallel()
	r := newRemembering(t, traits.Traits{Deterministic: true})
	r.wants("fn:v1", "run: 1\n", false)
	leave, _, err := r.limits.Gate.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if _, err := r.limits.Memory.Budget.Reserve(t.Context(), 1<<30); err != nil {
		t.Fatal(err)
	}
	r.wants("fn:v1", "run: 1\n", true)
}
