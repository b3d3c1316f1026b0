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

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/process"
)

// Functions that objects configure come before those of the config file and those that are built in, and go without a trace.
func TestConfigure(t *testing.T) {
	t.Parallel()
	builtin := Executable{Name: "builtin", Images: []string{"r.io/x"}, AnyTag: true}
	given := Executable{Name: "given", Images: []string{"r.io/w:v1"}}
	e := New(nil, nil, nil, "r.io", builtin, given)
	find := func(want map[string]string) {
		t.Helper()
		for image, name := range want {
			if got, _, _ := e.Find(image); got.Name != name {
				t.Errorf("%s is evaluated by %q, want %q", image, got.Name, name)
			}
		}
	}
	file := Executable{Name: "file", Images: []string{"y:v1", "r.io/y:v2"}}
	if got := e.load([]Executable{file}); !got.Changed {
		t.Error("the config file has changed nothing")
	}
	find(map[string]string{"x:v1": "builtin", "w:v1": "given", "y:v1": "file", "y:v2": "file", "y": ""})

	object := Executable{Name: "object", Images: []string{"r.io/x:v1", "r.io/y:v1", "r.io/z:latest"}}
	if diff := cmp.Diff(Change{Changed: true, Overridden: []string{"r.io/y:v1"}}, e.Configure([]Executable{object})); diff != "" {
		t.Errorf("with an object (-want +got):\n%s", diff)
	}
	find(map[string]string{
		"x:v1": "object", "x:v2": "builtin", "y:v1": "object", "y:v2": "file", "z": "object", "w:v1": "given",
		// An executable is not a digest, whatever tag stands beside it.
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
	if got := e.Configure([]Executable{object}); got.Changed || got.Overridden != nil {
		t.Errorf("the same once more: %+v", got)
	}
	file.Images = append(file.Images, "z:latest")
	if diff := cmp.Diff(Change{Changed: true, Overridden: []string{"r.io/z:latest"}}, e.load([]Executable{file})); diff != "" {
		t.Errorf("with another image in the file (-want +got):\n%s", diff)
	}
	if got := e.Configure(nil); !got.Changed || got.Overridden != nil {
		t.Errorf("without objects: %+v", got)
	}
	find(map[string]string{"x:v1": "builtin", "y:v1": "file", "z": "file"})
}

func TestChangeLog(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	Change{Changed: true}.Log(log)
	Change{Changed: true, Overridden: []string{"r.io/a:v1", "r.io/b:v1"}}.Log(log)
	if got := text.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "r.io/a:v1 r.io/b:v1") {
		t.Errorf("logged:\n%s", got)
	}
}

// A config file that is loaded keeps what objects configure.
func TestLoadBesideObjects(t *testing.T) {
	t.Parallel()
	dir := executables(t)
	file := dir + "/config.yaml"
	write(t, file, "functions:\n- function: good\n  images: ['r.io/a:v1', 'r.io/b:v1']\n")
	e := New(process.NewRunner(process.Limits{}, t.TempDir()), evaluation.NewGate(1, 1), nil, "r.io")
	path, err := FindExecutable(dir, "nested/good")
	if err != nil {
		t.Fatal(err)
	}
	e.Configure([]Executable{{Name: "a", Path: path, Images: []string{"r.io/a:v1"}}})
	var log bytes.Buffer
	l := NewLoader(e, Config{File: file, Dir: dir}, slog.New(slog.NewTextHandler(&log, nil)))
	for range 2 {
		if err := l.Load(); err != nil {
			t.Fatal(err)
		}
	}
	if a, _, _ := e.Find("a:v1"); a.Path != path {
		t.Errorf("a is run by %s, want %s", a.Path, path)
	}
	if b, _, ok := e.Find("b:v1"); !ok || b.Path == path {
		t.Errorf("b is run by %s", b.Path)
	}
	if n := strings.Count(log.String(), "r.io/a:v1"); n != 1 {
		t.Errorf("the conflict was logged %d times:\n%s", n, &log)
	}
	if _, err := e.Evaluate(context.WithoutCancel(t.Context()), evaluation.Request{Image: "a:v1", ResourceList: []byte("kind: ResourceList\n")}); err != nil {
		t.Error(err)
	}
}
