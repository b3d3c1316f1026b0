// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaldir_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/krmfn/internal/evaldir"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/packages"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/resource"
)

func cm(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

// The function sees all resources but Kptfiles, its own configuration and what is left out; the rest of the directory, its
// Kptfiles above all, stays as it is.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	dir, err := packages.NewMemory(map[string]string{
		"Kptfile": "no: Kptfile\n", "a.yaml": cm("a"), "sub/Kptfile": "kind: Kptfile\n", "sub/b.yaml": cm("b"), "fn.yaml": cm("fn"), "README.md": "text",
	})
	if err != nil {
		t.Fatal(err)
	}
	source, err := evaldir.New(dir, "r.io/rename", "v1", []byte(cm("config")), "fn.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got evaluation.Request
	rename := evaluation.Func(func(_ context.Context, req evaluation.Request) (evaluation.Response, error) {
		got = req
		list := strings.ReplaceAll(string(req.ResourceList), "name: a\n", "name: changed\n")
		return evaluation.Response{ResourceList: []byte(list), Report: &evaluationv1.Evaluation{}}, nil
	})
	result, err := render.Package(t.Context(), source, render.Options{Evaluator: rename})
	if err != nil {
		t.Fatal(err)
	}
	source.Clean(&result)

	if got.Image != "r.io/rename:v1" {
		t.Errorf("the image is %q", got.Image)
	}
	items, config, _ := strings.Cut(string(got.ResourceList), "functionConfig:")
	for text, want := range map[string]bool{"name: a\n": true, "name: b\n": true, "name: fn\n": false, "kind: Kptfile": false, "name: config\n": false} {
		if strings.Contains(items, text) != want {
			t.Errorf("%q is among the items: %v, want %v", text, !want, want)
		}
	}
	if !strings.Contains(config, "name: config\n") {
		t.Errorf("the functionConfig is %q", config)
	}
	if diff := cmp.Diff([]packages.Change{{Path: "a.yaml", Before: []byte(cm("a")), After: []byte(cm("changed"))}}, result.Output.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	var files []string
	for _, f := range result.Output.Files {
		files = append(files, f.Path)
	}
	if diff := cmp.Diff([]string{"a.yaml", "fn.yaml", "sub/b.yaml"}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if slices.ContainsFunc(result.Resources, func(r *yaml.RNode) bool { return resource.Kind(r) == "Kptfile" }) {
		t.Error("the Kptfile that was made up is among the resources")
	}
}
