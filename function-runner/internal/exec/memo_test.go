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

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/memo"
	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/evaluation/process/programtest"
	"github.com/krmfn/krmfn/services/evaluation/traits"
)

// remembering is an evaluator with a cache for answers, and a function that tells how often it has run, under two names.
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
	// The next process waits already, and must not be one of a program that is another by then.
	runner := process.NewRunner(process.Options{ScratchRoot: t.TempDir(), Standby: process.Standby{Processes: 1}})
	t.Cleanup(runner.Close)
	limits := Limits{Gate: evaluation.NewGate(1, 1), Memory: process.NewMemory(1<<30, 1), Memo: answers}
	r.Evaluator = New(runner, limits, []string{"PATH=/bin:/usr/bin"}, "r.io", slog.New(slog.DiscardHandler),
		Executable{Name: "fn", Path: r.path, Images: []string{"fn:v1", "fn:v2"}, Traits: declared, Implementation: "program"},
		Executable{Name: "link", Path: filepath.Join(r.dir, "link"), Images: []string{"link:v1"}, Traits: declared})
	return r
}

// program puts a program in place as installers do: the old file stays what it is.
func (r *remembering) program(text string) {
	r.t.Helper()
	file := r.path + ".new"
	programtest.Write(r.t, file, text)
	if err := os.Rename(file, r.path); err != nil {
		r.t.Fatal(err)
	}
}

// wants calls an image, and wants the answer of so many runs.
func (r *remembering) wants(image, output string, cached bool) {
	r.t.Helper()
	resp, err := r.Evaluate(r.t.Context(), evaluation.Request{Image: image, ResourceList: []byte(empty)})
	if err != nil || string(resp.ResourceList) != empty+output || resp.Report.GetCached() != cached || resp.Report.GetImage() != "r.io/"+image {
		r.t.Errorf("%s is answered with %q, cached: %v, of %s, error %v %v; want %q, cached: %v", image, strings.TrimPrefix(string(resp.ResourceList), empty),
			resp.Report.GetCached(), resp.Report.GetImage(), err, resp.Report.GetFailure(), output, cached)
	}
}

// An executable that is deterministic runs once, until it is another one or has changed.
func TestRemember(t *testing.T) {
	t.Parallel()
	r := newRemembering(t, traits.Traits{Deterministic: true})
	r.wants("fn:v1", "run: 1\n", false)
	r.wants("fn:v1", "run: 1\n", true)
	// Its images are names of one program.
	r.wants("fn:v2", "run: 1\n", true)

	// Another name may have the program do something else.
	if err := os.Symlink(r.path, filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	r.wants("link:v1", "run: 1\n", false)

	// Another file of the same size and age.
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

	// The same file with another content.
	programtest.Write(t, r.path, strings.ReplaceAll(counting, "run:", "RUN:"))
	r.wants("fn:v1", "RUN: 3\n", false)

	if err := os.Remove(r.path); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Evaluate(t.Context(), evaluation.Request{Image: "fn:v1", ResourceList: []byte(empty)}); err == nil {
		t.Error("a program that has gone is answered for")
	}
}

// What does not say that it is deterministic runs each time.
func TestRememberNothing(t *testing.T) {
	t.Parallel()
	r := newRemembering(t, traits.Traits{})
	r.wants("fn:v1", "run: 1\n", false)
	r.wants("fn:v1", "run: 2\n", false)
}

// An answer that is there needs no place among those that run, nor memory.
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
