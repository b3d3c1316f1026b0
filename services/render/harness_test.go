// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/functiontest"
	"github.com/krmfn/krmfn/internal/resourcelist"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// fake is an evaluator with test functions by image. It records their inputs.
type fake struct {
	functions map[string]func([]byte) ([]byte, error)
	mu        sync.Mutex
	inputs    []string
}

func (f *fake) Evaluate(_ context.Context, req evaluation.Request) (evaluation.Response, error) {
	function, ok := f.functions[req.Image]
	if !ok {
		return evaluation.Response{}, &evaluation.NotFoundError{Image: req.Image}
	}
	f.mu.Lock()
	f.inputs = append(f.inputs, string(req.ResourceList))
	f.mu.Unlock()
	output, err := function(req.ResourceList)
	report := &evaluationv1.Evaluation{Image: req.Image, Evaluator: evaluationv1.Evaluator_EVALUATOR_EXEC, Stderr: []byte("log\n")}
	report.Results, _ = resourcelist.Results(output)
	if err != nil {
		report.ExitCode = 3
		return evaluation.Failed(report, evaluationv1.FailureReason_FAILURE_REASON_EXIT_CODE, err.Error()), nil
	}
	return evaluation.Response{ResourceList: output, Report: report}, nil
}

// items returns a function that changes the items and is written like programs that use kyaml.
func items(change func([]*yaml.RNode) []*yaml.RNode) func([]byte) ([]byte, error) {
	return func(in []byte) ([]byte, error) {
		var out bytes.Buffer
		rw := &kio.ByteReadWriter{Reader: bytes.NewReader(in), Writer: &out, KeepReaderAnnotations: true, OmitReaderAnnotations: true}
		nodes, err := rw.Read()
		if err != nil {
			return nil, err
		}
		err = rw.Write(change(nodes))
		return out.Bytes(), err
	}
}

// each returns a function that changes every item.
func each(filters ...yaml.Filter) func([]byte) ([]byte, error) {
	return items(func(nodes []*yaml.RNode) []*yaml.RNode {
		for _, n := range nodes {
			if err := n.PipeE(filters...); err != nil {
				panic(err)
			}
		}
		return nodes
	})
}

func annotate(key, value string) yaml.Filter { return yaml.SetAnnotation(key, value) }

func replace(before, after string) func([]byte) ([]byte, error) {
	return func(in []byte) ([]byte, error) { return bytes.ReplaceAll(in, []byte(before), []byte(after)), nil }
}

func returns(output string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(output), nil }
}

const listHead = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"

// builtin returns options with small functions in process.
func builtin() render.Options {
	return render.Options{Evaluator: runtime.Builtin{Functions: functiontest.Functions()}, ImagePrefix: reference.CatalogPrefix}
}

func kpt(pipeline string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n" + pipeline
}

func mutators(functions ...string) string {
	return "pipeline:\n  mutators:\n" + list(functions)
}

func validators(functions ...string) string {
	return "pipeline:\n  validators:\n" + list(functions)
}

func list(functions []string) string {
	var text strings.Builder
	for _, f := range functions {
		if !strings.Contains(f, ":") {
			f = "{image: " + f + "}"
		}
		text.WriteString("  - " + f + "\n")
	}
	return text.String()
}

func cm(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

type run struct {
	render.Result
	err    error
	events []string
	fake   *fake
	files  map[string]string
}

// renderFiles renders a package in memory and applies the changes.
func renderFiles(t *testing.T, files map[string]string, functions map[string]func([]byte) ([]byte, error)) run {
	t.Helper()
	source, err := packages.NewMemory(files)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{functions: map[string]func([]byte) ([]byte, error){}}
	for name, function := range functions {
		f.functions[name+":latest"] = function
	}
	r := run{fake: f}
	r.Result, r.err = render.Package(t.Context(), source, render.Options{
		Evaluator: f,
		Observe:   func(e render.Event) { r.events = append(r.events, describe(e)) },
	})
	if r.err == nil {
		source.Apply(r.Output.Changes)
	}
	r.files = source.Files()
	return r
}

func describe(event render.Event) string {
	switch e := event.(type) {
	case *render.PackageStarted:
		return fmt.Sprintf("package %s %q: %d functions, %d resources", e.Package, e.Name, e.Functions, e.Resources)
	case *render.Started:
		var text strings.Builder
		text.WriteString("started:")
		for _, p := range e.Packages {
			fmt.Fprintf(&text, " %s(%q, %d, %d)", p.Package, p.Name, p.Depth, p.Functions)
		}
		return text.String()
	case *render.PackageFinished:
		return fmt.Sprintf("package %s finished: %v", e.Package, e.Err)
	case *render.FunctionStarted:
		return fmt.Sprintf("%s started on %d, selected %v", e.Function.Title(), e.Resources, e.Selected)
	case *render.FunctionFinished:
		return fmt.Sprintf("%s finished with %d: %v", e.Function.Title(), e.Function.ExitCode, e.Err)
	}
	return "unknown event"
}
