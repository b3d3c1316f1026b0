// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render"
)

// directory returns the resources of a directory with two packages.
func directory(t *testing.T) []*yaml.RNode {
	t.Helper()
	var all []*yaml.RNode
	for _, file := range []struct{ path, text string }{
		{"Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: top\n"},
		{"a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    app: x\n"},
		{"sub/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n"},
	} {
		nodes, err := (&kio.ByteReader{Reader: strings.NewReader(file.text), SetAnnotations: map[string]string{
			resource.PathAnnotation: file.path, resource.FormerPathAnnotation: file.path,
		}}).Read()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, nodes...)
	}
	return all
}

// rename sets the name of every resource to "new".
func rename(nodes []*yaml.RNode) []*yaml.RNode {
	for _, n := range nodes {
		if err := n.SetName("new"); err != nil {
			panic(err)
		}
	}
	return nodes
}

func TestFunction(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		function kptfilev1.Function
		want     string // names of the output's resources
		image    string
	}{
		"all":       {kptfilev1.Function{Image: "rename"}, "new new new", "r.io/fn/rename"},
		"a tag":     {kptfilev1.Function{Image: "rename", Tag: "v1"}, "new new new", "r.io/fn/rename:v1"},
		"selected":  {kptfilev1.Function{Image: "rename", Selectors: []kptfilev1.Selector{{Labels: map[string]string{"app": "x"}}}}, "top new sub", "r.io/fn/rename"},
		"excluded":  {kptfilev1.Function{Image: "rename", Exclusions: []kptfilev1.Selector{{Kind: "Kptfile"}}}, "top new sub", "r.io/fn/rename"},
		"a command": {kptfilev1.Function{Exec: "rename"}, "new new new", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{functions: map[string]func([]byte) ([]byte, error){
				"r.io/fn/rename": items(rename), "r.io/fn/rename:v1": items(rename), "rename": items(rename),
			}}
			config := yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\n")
			got, record, err := render.Function(t.Context(), tc.function, config, directory(t),
				render.Options{Evaluator: f, Exec: f, ImagePrefix: "r.io/fn"})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, r := range got {
				names = append(names, resource.Name(r))
				if text := r.MustString(); strings.Contains(text, "package-path") || strings.Contains(text, "config.kubernetes.io/id") {
					t.Errorf("the output still has internal annotations:\n%s", text)
				}
			}
			if strings.Join(names, " ") != tc.want || record.Image != tc.image || !record.Ran {
				t.Errorf("names = %q, want %q; record = %+v", names, tc.want, record)
			}
			if in := f.inputs[0]; strings.Contains(in, "package-path") || !strings.Contains(in, "functionConfig:\n  apiVersion: v1\n") {
				t.Errorf("function input =\n%s", in)
			}
		})
	}
}

func TestFunctionFails(t *testing.T) {
	t.Parallel()
	f := &fake{functions: map[string]func([]byte) ([]byte, error){
		"r.io/fails": func([]byte) ([]byte, error) { return nil, errors.New("no") },
		"r.io/outside": items(func(nodes []*yaml.RNode) []*yaml.RNode {
			return append(nodes, yaml.MustParse("apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    config.kubernetes.io/path: ../a.yaml\n"))
		}),
		// The other resource with this path is not selected.
		"r.io/twice": items(func(nodes []*yaml.RNode) []*yaml.RNode {
			return append(nodes, yaml.MustParse("apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    config.kubernetes.io/path: a.yaml\n    config.kubernetes.io/index: '0'\n"))
		}),
	}}
	for image, want := range map[string]string{
		"r.io/fails":   `func eval "r.io/fails" failed: no`,
		"r.io/outside": "function must not modify resources outside of package: resource has path ../a.yaml",
		"r.io/twice":   `resource at path "a.yaml" and index "0" already exists`,
		"r.io/none":    "r.io/none",
		"r.io/UPPER":   `function image reference "r.io/UPPER" is invalid`,
	} {
		got, record, err := render.Function(t.Context(), kptfilev1.Function{Image: image, Selectors: []kptfilev1.Selector{{Kind: "Kptfile"}}}, nil, directory(t), render.Options{Evaluator: f})
		if got != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Function() = %d resources, error %v, want %q", image, len(got), err, want)
		}
		if record.Image == "" || record.ExitCode == 0 || record.Error == "" {
			t.Errorf("%s: record = %+v, want a failure", image, record)
		}
	}
	if _, _, err := render.Function(t.Context(), kptfilev1.Function{Exec: "x"}, nil, directory(t), render.Options{}); err == nil {
		t.Error("Function() of a command line without Options.Exec = nil, want an error")
	}
}

// Path and index annotations of the output have the keys that the input had.
func TestPathAnnotationKeys(t *testing.T) {
	t.Parallel()
	annotated := func(text, value string, annotations []string) string {
		if len(annotations) == 0 {
			return text
		}
		return text + "  annotations:\n    " + strings.Join(annotations, ": "+value+"\n    ") + ": " + value + "\n"
	}
	named := func(name string, annotations ...string) string {
		return annotated(cm(name), "x/"+name+".yaml", annotations)
	}
	const internal, former = resource.PathAnnotation, resource.FormerPathAnnotation
	generated := func(annotations ...string) string {
		return annotated("apiVersion: v1\nkind: Secret\nmetadata:\n  name: new\n", "'secret_new.yaml'", annotations)
	}
	defaulted := func(key string) string { return cm("b") + "  annotations:\n    " + key + ": 'configmap_b.yaml'\n" }
	for name, tc := range map[string]struct {
		in, want []string
		selector kptfilev1.Selector
	}{
		"none":                     {in: []string{named("a"), named("b")}, want: []string{named("a"), named("b"), generated()}},
		"none, one selected":       {in: []string{named("a"), named("b"), named("c")}, selector: kptfilev1.Selector{Name: "b"}, want: []string{named("a"), named("b"), named("c"), generated()}},
		"former":                   {in: []string{named("a", former), named("b")}, want: []string{named("a", former), defaulted(former), generated(former)}},
		"internal":                 {in: []string{named("a", internal), named("b")}, want: []string{named("a", internal), defaulted(internal), generated(internal)}},
		"former, but not selected": {in: []string{named("a", former), named("b")}, selector: kptfilev1.Selector{Name: "b"}, want: []string{named("a", former), named("b"), generated()}},
		"former, selected":         {in: []string{named("a", former), named("b")}, selector: kptfilev1.Selector{Name: "a"}, want: []string{named("a", former), named("b"), generated(former)}},
		"nothing selected":         {in: []string{named("a")}, selector: kptfilev1.Selector{Name: "z"}, want: []string{named("a"), generated(internal, former)}},
	} {
		var in []*yaml.RNode
		for _, text := range tc.in {
			in = append(in, yaml.MustParse(text))
		}
		f := &fake{functions: map[string]func([]byte) ([]byte, error){"r.io/fn": items(func(nodes []*yaml.RNode) []*yaml.RNode {
			return append(nodes, yaml.MustParse(generated()))
		})}}
		function := kptfilev1.Function{Image: "r.io/fn"}
		if !tc.selector.IsEmpty() {
			function.Selectors = []kptfilev1.Selector{tc.selector}
		}
		out, _, err := render.Function(t.Context(), function, nil, in, render.Options{Evaluator: f})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, r := range out {
			got = append(got, r.MustString())
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if seen := f.inputs[0]; strings.Contains(seen, internal) != strings.Contains(seen, " "+former) {
			t.Errorf("%s: the function saw\n%s", name, seen)
		}
	}
}
