// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package rendering_test renders packages with the curated functions.
package rendering_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/runtime"
)

var update = flag.Bool("update", false, "write the golden files")

func builtin() render.Options {
	return render.Options{Evaluator: runtime.Builtin{Functions: functions.All()}, ImagePrefix: reference.CatalogPrefix}
}

// Each directory of testdata has a package in "in", the rendered package in "out", and the report in report.json.
func TestGolden(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/*/in")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no test cases: %v", err)
	}
	for _, in := range cases {
		t.Run(filepath.Dir(in), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(in)); err != nil {
				t.Fatal(err)
			}
			report := renderDir(t, dir)
			out, reportFile := filepath.Join(filepath.Dir(in), "out"), filepath.Join(filepath.Dir(in), "report.json")
			if *update {
				if err := os.RemoveAll(out); err != nil {
					t.Fatal(err)
				}
				if err := os.CopyFS(out, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(reportFile, []byte(report), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(reportFile)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), report); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(readDir(t, out), readDir(t, dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			renderDir(t, dir)
			// The status describes what functions had to do, which is less in the second render.
			if diff := cmp.Diff(readDir(t, out), readDir(t, dir), cmpopts.IgnoreMapEntries(func(p, _ string) bool { return p == "Kptfile" })); diff != "" {
				t.Errorf("files after the second render (-want +got):\n%s", diff)
			}
		})
	}
}

// renderDir renders a directory in place and returns the report without values that differ between runs.
func renderDir(t *testing.T, dir string) string {
	t.Helper()
	source, err := packages.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	options := builtin()
	options.WriteStatus = true
	result, renderErr := render.Package(t.Context(), source, options)
	if err := source.Apply(result.Output.Changes); err != nil {
		t.Fatal(err)
	}
	if renderErr != nil {
		t.Log(renderErr)
	}
	for i := range result.Report.Functions {
		result.Report.Functions[i].Duration = 0
	}
	text, err := json.MarshalIndent(result.Report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), source.Location(), "DIR") + "\n"
}

func readDir(t *testing.T, dir string) map[string]string {
	t.Helper()
	source, err := packages.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	paths, err := source.Paths()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, p := range paths {
		content, err := source.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files[p] = string(content)
	}
	return files
}

// A second render with set-labels changes nothing.
func TestRenderingIsIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kptfile := kpt("pipeline:\n  mutators:\n  - image: set-labels\n    configMap: {app: shop}\n    selectors: [" +
			rapid.SampledFrom([]string{"", "{kind: ConfigMap}", "{kind: ConfigMap}, {name: a}", "{name: b}"}).Draw(t, "selectors") + "]\n")
		files := map[string]string{"Kptfile": kptfile}
		for i := range rapid.IntRange(1, 4).Draw(t, "files") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
			body := rapid.SampledFrom([]string{
				"", "  labels: {app: old} # flow\n", "  labels:\n    app: old # line\n    z: a\n", "  annotations:\n    a: \"1\"\ndata:\n  k: |\n    v\n",
				"spec:\n  # head\n  template:\n    metadata:\n      labels: {x: y}\n    list:\n      - a\n      - b # c\n",
			}).Draw(t, "body")
			files[string(rune('f'+i))+".yaml"] = "# head\n" + cm(name) + body
		}
		once := renderOnce(t, files)
		if diff := cmp.Diff(once, renderOnce(t, once)); diff != "" {
			t.Fatalf("the second render changes files (-first +second):\n%s", diff)
		}
		if !strings.Contains(strings.Join([]string{once["f.yaml"], once["Kptfile"]}, ""), "app") {
			t.Fatal("set-labels changed nothing, want labels")
		}
	})
}

func renderOnce(t *rapid.T, files map[string]string) map[string]string {
	source, err := packages.NewMemory(files)
	if err != nil {
		t.Fatal(err)
	}
	result, err := render.Package(t.Context(), source, builtin())
	if err != nil {
		t.Fatal(err)
	}
	source.Apply(result.Output.Changes)
	return source.Files()
}

func kpt(pipeline string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n" + pipeline
}

func cm(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

// steps returns the steps of a pipeline from functions in YAML.
func steps(functions ...string) string { return "  - " + strings.Join(functions, "\n  - ") + "\n" }
