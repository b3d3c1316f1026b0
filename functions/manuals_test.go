// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/functions/manual"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

var update = flag.Bool("update", false, "write the outputs of the examples")

// Each function is documented, and its example has the documented output.
func TestManuals(t *testing.T) {
	t.Parallel()
	for _, f := range functions.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			d := functions.ManualOf(f)
			if d.Description == "" || len(d.Configuration) == 0 || d.Example.Input+d.Example.FunctionConfig == "" {
				t.Fatalf("incomplete documentation: %+v", d)
			}
			for _, form := range d.Configuration {
				if !strings.HasSuffix(form.Summary, ".") && !strings.HasSuffix(form.Summary, ":") || strings.HasSuffix(form.Summary, ":") != (len(form.Fields) > 0) {
					t.Errorf("form %q has %d fields", form.Summary, len(form.Fields))
				}
			}
			got := evaluateExample(t, f, d.Example)
			if *update && f.Stands == "" {
				writeOutput(t, f.Name, got)
				return
			}
			if diff := cmp.Diff(d.Example.Output, got); diff != "" {
				t.Errorf("output of the example; go test -run TestManuals -update writes it (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"set-labels", "create-setters", "kubeval"} {
		f, _ := functions.Lookup(name)
		for _, d := range functions.ManualOf(f).Differences {
			if d.Catalog == "" || d.Here != "fixed" && d.Here != "kept" {
				t.Errorf("%s: Differences() = %+v", name, d)
			}
		}
		if len(functions.ManualOf(f).Differences) == 0 {
			t.Errorf("%s: QUIRKS.md has no differences", name)
		}
	}
}

// evaluateExample returns the resources as documents or, if they do not change, the results.
func evaluateExample(t *testing.T, f function.Function, e manual.Example) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range e.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := &fn.ResourceList{}
	for document := range strings.SplitSeq(e.Input, "---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		item, err := fn.ParseKubeObject([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		list.Items = append(list.Items, item)
	}
	if e.FunctionConfig != "" {
		config, err := fn.ParseKubeObject([]byte(e.FunctionConfig))
		if err != nil {
			t.Fatal(err)
		}
		list.FunctionConfig = config
	}
	input, err := list.ToYAML()
	if err != nil {
		t.Fatal(err)
	}
	ctx := function.WithProgram(t.Context(), function.Program{Stderr: t.Output(), Environ: []string{
		"RENDER_HELM_CHART_DIR=" + dir, "GENERATE_KPT_PKG_DOCS_DIR=" + dir,
	}})
	printed, runErr := function.Run(ctx, f, input)
	output, err := fn.ParseResourceList(printed)
	if err != nil {
		t.Fatalf("run error = %v, parse error = %v", runErr, err)
	}
	var documents []string
	for _, item := range output.Items {
		documents = append(documents, item.String())
	}
	before := make([]string, 0, len(list.Items))
	for _, item := range list.Items {
		before = append(before, item.String())
	}
	if slices.Equal(before, documents) {
		return results(t, output)
	}
	if runErr != nil {
		t.Errorf("the example fails: %v: %s", runErr, output.Results)
	}
	return strings.Join(documents, "---\n")
}

func results(t *testing.T, list *fn.ResourceList) string {
	t.Helper()
	if len(list.Results) == 0 {
		return ""
	}
	text, err := (&fn.ResourceList{Results: list.Results}).ToYAML()
	if err != nil {
		t.Fatal(err)
	}
	node, err := yaml.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := node.PipeE(yaml.Clear("apiVersion")); err != nil {
		t.Fatal(err)
	}
	if err := node.PipeE(yaml.Clear("kind")); err != nil {
		t.Fatal(err)
	}
	return node.MustString()
}

// writeOutput writes the output of an example to its doc.md.
func writeOutput(t *testing.T, name, output string) {
	t.Helper()
	file := filepath.Join(strings.ReplaceAll(name, "-", ""), "doc.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "```yaml output\n")
	_, tail, _ := strings.Cut("\n"+rest, "\n```\n")
	text = []byte(head + "```yaml output\n" + output + "```\n" + tail)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
