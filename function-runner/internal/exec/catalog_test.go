// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/traits"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Functions from objects override those from the config file and the built-in ones, which are restored when the objects are removed.
func TestConfigure(t *testing.T) {
	t.Parallel()
	builtin := Executable{Name: "builtin", Images: []string{"r.io/x"}, AnyTag: true}
	given := Executable{Name: "given", Images: []string{"r.io/w:v1"}}
	var log bytes.Buffer
	e := New(nil, Limits{}, nil, "r.io", slog.New(slog.NewTextHandler(&log, nil)), builtin, given)
	// changed checks what a change reports, and the images that it logs.
	changed := func(what string, got, want bool, images string) {
		t.Helper()
		if got != want || (images == "") != (log.Len() == 0) || !strings.Contains(log.String(), images) || strings.Count(log.String(), "\n") > 1 {
			t.Errorf("%s: changed = %v, want %v, and a log with images %q:\n%s", what, got, want, images, &log)
		}
		log.Reset()
	}
	find := func(want map[string]string) {
		t.Helper()
		for image, name := range want {
			if got, _, _ := e.Find(image); got.Name != name {
				t.Errorf("Find(%s) = %q, want %q", image, got.Name, name)
			}
		}
	}
	file := Executable{Name: "file", Images: []string{"y:v1", "r.io/y:v2"}}
	changed("the config file", e.load([]Executable{file}), true, "")
	find(map[string]string{"x:v1": "builtin", "w:v1": "given", "y:v1": "file", "y:v2": "file", "y": ""})

	object := Executable{Name: "object", Images: []string{"r.io/x:v1", "r.io/y:v1", "r.io/z:latest"}}
	changed("an object", e.Configure([]Executable{object}), true, "images=[r.io/y:v1]\n")
	find(map[string]string{
		"x:v1": "object", "x:v2": "builtin", "y:v1": "object", "y:v2": "file", "z": "object", "w:v1": "given",
		// An entry without a digest does not match a digest, regardless of the tag.
		"y@sha256:ab": "", "y:v1@sha256:ab": "", "other.io/y:v1": "",
	})
	names := map[string][]string{}
	for _, f := range e.Functions() {
		names[f.Name] = f.Images
	}
	want := map[string][]string{"builtin": builtin.Images, "given": given.Images, "object": object.Images, "file": {"r.io/y:v2"}}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("functions (-want +got):\n%s", diff)
	}
	changed("the same once more", e.Configure([]Executable{object}), false, "")
	file.Images = append(file.Images, "z:latest")
	changed("another image in the file", e.load([]Executable{file}), true, "images=[r.io/z:latest]\n")
	changed("no object", e.Configure(nil), true, "")
	find(map[string]string{"x:v1": "builtin", "y:v1": "file", "z": "file"})
}

// Traits that the config file declares for an executable also apply to objects with the same executable, unless the objects override
// them.
func TestDeclared(t *testing.T) {
	t.Parallel()
	e := New(nil, Limits{}, nil, "r.io", slog.New(slog.DiscardHandler))
	e.load([]Executable{
		{Path: "/x", Images: []string{"r.io/x:v1"}, Traits: traits.Traits{Worker: true, Deterministic: true}},
		{Path: "/x", Images: []string{"r.io/x:v2"}, Traits: traits.Traits{Worker: true}},
	})
	e.Configure([]Executable{
		{Path: "/x", Images: []string{"r.io/a"}},
		{Path: "/x", Images: []string{"r.io/b"}, Declared: map[string]string{traits.WorkerLabel: "false", traits.DeterministicLabel: "true"}},
		{Path: "/other", Images: []string{"r.io/c"}, Declared: map[string]string{traits.WorkerLabel: "maybe", traits.StandbyLabel: "false"}},
	})
	for image, want := range map[string]traits.Traits{
		"x:v1": {Worker: true, Deterministic: true}, "a": {Worker: true}, "b": {Deterministic: true}, "c": {NoStandby: true},
	} {
		if f, _, ok := e.Find(image); !ok || f.Traits != want {
			t.Errorf("Find(%s).Traits = %+v, want %+v", image, f.Traits, want)
		}
	}
}

// The report has a warning if the tag of the image differs from the version of the executable, whichever source has configured the tag.
func TestOtherVersionIsReported(t *testing.T) {
	t.Parallel()
	dir := executables(t)
	path, err := FindExecutable(dir, "good")
	if err != nil {
		t.Fatal(err)
	}
	e := New(process.NewRunner(process.Options{ScratchRoot: t.TempDir()}), Limits{Gate: middleware.NewGate(1, 1), Memory: process.NewMemory(1<<30, 1)},
		nil, "r.io", slog.New(slog.DiscardHandler))
	e.load([]Executable{{Path: path, Version: "v0.2.0", Implementation: "fn v0.2.0", Images: []string{"fn:v0.2", "fn:v0.1.5"}}})
	e.Configure([]Executable{{Path: path, Implementation: "good", Images: []string{"other:v9.9.9", "other:v0.2.0"}}})
	for image, want := range map[string]string{
		"fn:v0.2": "", "fn:v0.1.5": "fn:v0.1.5 is evaluated by v0.2.0", "other:v0.2.0": "", "other:v9.9.9": "other:v9.9.9 is evaluated by v0.2.0",
	} {
		resp, err := e.Evaluate(context.WithoutCancel(t.Context()), evaluation.Request{Image: image, ResourceList: []byte("kind: ResourceList\n")})
		if err != nil || resp.Report.GetWarning() != want || resp.Report.GetImplementation() != "fn v0.2.0" {
			t.Errorf("Evaluate(%s) = %v, %v, want the warning %q", image, resp.Report, err, want)
		}
	}
}

// Loading a config file keeps the functions from objects.
func TestLoadBesideObjects(t *testing.T) {
	t.Parallel()
	dir := executables(t)
	file := dir + "/config.yaml"
	write(t, file, "functions:\n- function: good\n  images: ['r.io/a:v1', 'r.io/b:v1']\n")
	var log bytes.Buffer
	e := New(process.NewRunner(process.Options{ScratchRoot: t.TempDir()}), Limits{Gate: middleware.NewGate(1, 1), Memory: process.NewMemory(1<<30, 1)}, nil, "r.io", slog.New(slog.NewTextHandler(&log, nil)))
	path, err := FindExecutable(dir, "nested/good")
	if err != nil {
		t.Fatal(err)
	}
	e.Configure([]Executable{{Name: "a", Path: path, Images: []string{"r.io/a:v1"}}})
	l := NewLoader(e, Config{File: file, Dir: dir})
	for range 2 {
		if err := l.Load(); err != nil {
			t.Fatal(err)
		}
	}
	if a, _, _ := e.Find("a:v1"); a.Path != path {
		t.Errorf("Find(a:v1) = %s, want %s", a.Path, path)
	}
	if b, _, ok := e.Find("b:v1"); !ok || b.Path == path {
		t.Errorf("Find(b:v1) = %s, want the executable of the config file", b.Path)
	}
	if n := strings.Count(log.String(), "r.io/a:v1"); n != 1 {
		t.Errorf("the conflict was logged %d times, want once:\n%s", n, &log)
	}
	if _, err := e.Evaluate(context.WithoutCancel(t.Context()), evaluation.Request{Image: "a:v1", ResourceList: []byte("kind: ResourceList\n")}); err != nil {
		t.Error(err)
	}
}
