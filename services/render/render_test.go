// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMutatorsThenValidators(t *testing.T) {
	t.Parallel()
	r := renderFiles(t, map[string]string{
		"Kptfile":     kpt(mutators("one", "two") + "  validators:\n  - image: check\n"),
		"a.yaml":      cm("a"),
		"sub/Kptfile": kpt(""),
		"sub/s.yaml":  cm("s"),
		"README.md":   "one",
	}, map[string]func([]byte) ([]byte, error){
		"one":   each(annotate("by", "one")),
		"two":   replace("'one'", "'two'"),
		"check": each(annotate("by", "check")),
	})
	if r.err != nil {
		t.Fatal(r.err)
	}
	if got, want := r.files["a.yaml"], cm("a")+"  annotations:\n    by: 'two'\n"; got != want {
		t.Errorf("a.yaml =\n%s", got)
	}
	if got, want := r.files["sub/s.yaml"], cm("s")+"  annotations:\n    by: 'two'\n"; got != want || r.files["README.md"] != "one" {
		t.Errorf("sub/s.yaml =\n%s", got)
	}
	want := []string{
		`started: sub("/sub", 1, 0) .("/", 0, 3)`,
		`package sub "/sub": 0 functions, 2 resources`, "package sub finished: <nil>", `package . "/": 3 functions, 4 resources`,
		"one:latest started on 4, selected false", "one:latest finished with 0: <nil>",
		"two:latest started on 4, selected false", "two:latest finished with 0: <nil>",
		"check:latest started on 4, selected false", "check:latest finished with 0: <nil>",
		"package . finished: <nil>",
	}
	if diff := cmp.Diff(want, r.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if r.Report.Error != "" || r.Report.Result.ExitCode != 0 || len(r.Report.Result.Items) != 3 || r.Report.Functions[2].Stderr != "log" {
		t.Errorf("report = %+v", r.Report)
	}
}

func TestWireForm(t *testing.T) {
	t.Parallel()
	r := renderFiles(t, map[string]string{
		"Kptfile": kpt(mutators(`{image: fn, configMap: {b: 1.50, a: "yes", c: }, exclude: [{kind: Kptfile}]}`) + "  validators:\n  - {image: fn, configPath: d/c.yml}\n"),
		"d/c.yml": "# head\n" + cm("c") + "list:\n  - a # line\n",
	}, map[string]func([]byte) ([]byte, error){"fn": each()})
	if r.err != nil {
		t.Fatal(r.err)
	}
	want := listHead + `items:
- # head
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: c
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'd/c.yml'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/package-path: '/'
      internal.config.kubernetes.io/path: 'd/c.yml'
      internal.config.kubernetes.io/seqindent: 'wide'
      internal.config.kubernetes.io/kpt-resource-id: '1'
      internal.config.kubernetes.io/annotations-migration-resource-id: '0'
      internal.config.kubernetes.io/id: '1'
      config.k8s.io/id: '1'
  list:
  - a # line
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: function-input
  data:
    a: "yes"
    b: "1.50"
    c: ""
`
	if diff := cmp.Diff(want, r.fake.inputs[0]); diff != "" {
		t.Errorf("mutator's input (-want +got):\n%s", diff)
	}
	config := strings.SplitAfter(r.fake.inputs[1], "functionConfig:\n")[1]
	wantConfig := `  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: c
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'd/c.yml'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/package-path: '/'
      internal.config.kubernetes.io/path: 'd/c.yml'
      internal.config.kubernetes.io/seqindent: 'wide'
      internal.config.kubernetes.io/id: '2'
      config.k8s.io/id: '2'
  list:
  - a # line
`
	if diff := cmp.Diff(wantConfig, strings.ReplaceAll(config, "  # head\n", "")); diff != "" {
		t.Errorf("validator's functionConfig (-want +got):\n%s", diff)
	}
	if len(r.Output.Changes) != 0 {
		t.Errorf("changes = %v, want none", r.Output.Changes)
	}
}

func TestFunctionConfigIsCurrent(t *testing.T) {
	t.Parallel()
	r := renderFiles(t, map[string]string{
		"Kptfile": kpt(mutators("change", "{image: use, configPath: ./fc.yaml}", "drop", "{image: use, configPath: fc.yaml}")),
		"fc.yaml": cm("fc") + "data:\n  k: before\n",
	}, map[string]func([]byte) ([]byte, error){
		"change": replace("k: before", "k: after"),
		"use":    each(),
		"drop":   items(func(nodes []*yaml.RNode) []*yaml.RNode { return nodes[:1] }),
	})
	if r.err != nil {
		t.Fatal(r.err)
	}
	for _, i := range []int{1, 3} {
		config := strings.SplitAfter(r.fake.inputs[i], "functionConfig:\n")
		if len(config) != 2 || !strings.Contains(config[1], "k: after") {
			t.Errorf("input %d has a stale functionConfig:\n%s", i, r.fake.inputs[i])
		}
	}
	if _, ok := r.files["fc.yaml"]; ok {
		t.Error("fc.yaml still exists")
	}
}

func TestMissingKptfile(t *testing.T) {
	t.Parallel()
	r := renderFiles(t, map[string]string{"a.yaml": cm("a")}, nil)
	if r.err == nil || r.Report.Result != nil || !strings.HasPrefix(r.Report.Error, "fn.render: pkg /:\n\tpkg.read: error reading Kptfile") {
		t.Errorf("error = %v, report = %+v", r.err, r.Report)
	}
	if cause := render.Cause(r.err); cause == nil || cause.Error() != `error reading Kptfile at "/": no Kptfile in this directory` {
		t.Errorf("Cause() = %v", cause)
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	source, err := packages.NewMemory(map[string]string{"Kptfile": kpt(mutators(`{exec: "./fn --all"}`))})
	if err != nil {
		t.Fatal(err)
	}
	exec := &fake{functions: map[string]func([]byte) ([]byte, error){"./fn --all": each(annotate("a", "b"))}}
	result, err := render.Package(t.Context(), source, render.Options{Exec: exec})
	if err != nil || len(result.Output.Changes) != 1 {
		t.Fatalf("Package() = %v, %v", result.Output, err)
	}
	if item := result.Report.Result.Items[0]; item.Exec != "./fn --all" || item.Image != "" {
		t.Errorf("result = %+v", item)
	}
}

// Comments that are separate from the resource, such as a licence, belong to the document and are kept too.
func TestCommentsOfTheDocument(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"Kptfile": "# Licence\n\n" + kpt(mutators("{image: set-labels, configMap: {a: b}}", "{image: set-labels, configMap: {a: c}}")),
		"a.yaml":  "# Licence\n\n" + cm("a") + "\n# end\n",
	}
	for name, options := range map[string]render.Options{"in process": builtin(), "printed": {Evaluator: evaluation.Chain(builtin().Evaluator)}} {
		source, err := packages.NewMemory(files)
		if err != nil {
			t.Fatal(err)
		}
		result, err := render.Package(t.Context(), source, options)
		if err != nil {
			t.Fatal(err)
		}
		source.Apply(result.Output.Changes)
		want := "# Licence\n" + cm("a") + "  labels:\n    a: c\n\n# end\n"
		if diff := cmp.Diff(want, source.Files()["a.yaml"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := source.Files()["Kptfile"]; !strings.HasPrefix(got, "# Licence\n") {
			t.Errorf("%s: Kptfile =\n%s", name, got)
		}
	}
}
