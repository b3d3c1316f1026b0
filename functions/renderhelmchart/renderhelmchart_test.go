// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package renderhelmchart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// web returns the files of a chart.
func web(version string) map[string]string {
	return map[string]string{
		"Chart.yaml":               "apiVersion: v2\nname: web\nversion: " + version + "\n",
		"values.yaml":              "port: 80\nlabels: {app: web, tier: front}\n",
		"crds/crd.yaml":            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: crd}\n",
		"templates/NOTES.txt":      "Thank you\n",
		"templates/_helpers.tpl":   `{{ define "name" }}{{ .Release.Name }}-web{{ end }}`,
		"templates/service.yaml":   "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ include \"name\" . }}\n  namespace: {{ .Release.Namespace }}\n  labels: {{ toJson .Values.labels }}\nspec: {ports: [{port: {{ .Values.port }}}]}\n",
		"templates/namespace.yaml": "{{ if .Capabilities.APIVersions.Has \"example.com/v1\" }}\napiVersion: v1\nkind: Namespace\nmetadata: {name: {{ .Release.Namespace }}}\n{{ end }}",
		"templates/test.yaml":      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\n",
	}
}

// write writes files below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// archive returns a chart as an archive.
func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: "web/" + name, Mode: 0o600, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// evaluate is functiontest.Evaluate with environment variables.
func evaluate(t *testing.T, items, config string, environ ...string) (string, error) {
	t.Helper()
	ctx := function.WithProgram(t.Context(), function.Program{Stderr: io.Discard, Environ: environ})
	out, err := function.Run(ctx, Function, []byte(functiontest.List(items, config)))
	text := strings.TrimPrefix(string(out), functiontest.Head)
	items, after, _ := strings.Cut(text, "functionConfig:\n")
	if _, results, ok := strings.Cut(after, "results:\n"); ok {
		items += "results:\n" + results
	}
	return items, err
}

const typed = "apiVersion: fn.kpt.dev/v1alpha1\nkind: RenderHelmChart\nmetadata: {name: c}\n"

func service(name, namespace, labels, port string) string {
	return fmt.Sprintf("- apiVersion: v1\n  kind: Service\n  metadata:\n    name: %s\n    namespace: %s\n    labels: %s\n  spec: {ports: [{port: %s}]}\n",
		name, namespace, labels, port)
}

const test = "- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: test\n    annotations: {helm.sh/hook: test}\n"

func TestRender(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tmp/charts/web"), web("1.0.0"))
	write(t, filepath.Join(dir, "other/packed"), map[string]string{"web-2.0.0.tgz": string(archive(t, web("2.0.0")))})
	write(t, dir, map[string]string{"a.yaml": "port: 1\nlabels: {app: a}\n", "b.yaml": "port: 2\n"})
	const labels = `{"app": "web", "tier": "front"}`
	for name, c := range map[string]struct{ items, config, want string }{
		"a chart without options": {
			config: typed + "helmCharts: [{chartArgs: {name: web}}]",
			want:   service("release-name-web", "default", labels, "80") + test,
		},
		"a ConfigMap": {
			config: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {name: web, releaseName: r, namespace: n, skipTests: 'true', valuesFile: a.yaml}",
			want:   service("r-web", "n", `{"app": "a", "tier": "front"}`, "1"),
		},
		"all options": {
			config: typed + `helmGlobals: {chartHome: /tmp/charts}
helmCharts:
- chartArgs: {name: web, version: 1.0.0, repo: https://example.com}
  templateOptions:
    apiVersions: [example.com/v1]
    nameTemplate: '{{ "R" | lower }}'
    namespace: ns
    includeCRDs: true
    skipTests: true
    values: {valuesFiles: [a.yaml, b.yaml], valuesInline: {port: 3}}`,
			want: "- apiVersion: apiextensions.k8s.io/v1\n  kind: CustomResourceDefinition\n  metadata: {name: crd}\n" +
				"- apiVersion: v1\n  kind: Namespace\n  metadata: {name: ns}\n" + service("r-web", "ns", `{"app": "a", "tier": "front"}`, "3"),
		},
		"values of files take precedence": {
			config: typed + "helmCharts: [{chartArgs: {name: web}, templateOptions: {skipTests: true, values: " +
				"{valuesFiles: [b.yaml], valuesInline: {port: 3, labels: {app: x}}, valuesMerge: merge}}}]",
			want: service("release-name-web", "default", `{"app": "x", "tier": "front"}`, "2"),
		},
		"values of files are ignored": {
			config: typed + "helmCharts: [{chartArgs: {name: web}, templateOptions: {skipTests: true, values: " +
				"{valuesFiles: [a.yaml], valuesInline: {port: 3}, valuesMerge: replace}}}]",
			want: service("release-name-web", "default", labels, "3"),
		},
		"an archive": {
			config: typed + "helmGlobals: {chartHome: other/packed}\nhelmCharts: [{chartArgs: {name: web, version: 2.0.0}, templateOptions: {skipTests: true}}]",
			want:   service("release-name-web", "default", labels, "80"),
		},
		"an existing resource is replaced in place": {
			items: "- apiVersion: v1\n  kind: Service\n  metadata: {name: release-name-web, namespace: default, annotations: {internal.config.kubernetes.io/path: s.yaml, a: b}}\n" +
				"- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n",
			config: typed + "helmCharts: [{chartArgs: {name: web}, templateOptions: {skipTests: true}}]",
			want: "- apiVersion: v1\n  kind: Service\n  metadata:\n    name: release-name-web\n    namespace: default\n    labels: " + labels +
				"\n    annotations:\n      internal.config.kubernetes.io/path: s.yaml\n  spec: {ports: [{port: 80}]}\n- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := evaluate(t, c.items, c.config, DirectoryVariable+"="+dir)
			if err != nil {
				t.Fatalf("error = %v; output:\n%s", err, got)
			}
			if diff := cmp.Diff("items:\n"+strings.ReplaceAll(c.want, `", "`, `","`), strings.ReplaceAll(got, `", "`, `","`)); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRenderFails(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, dir, map[string]string{
		"lib/Chart.yaml": "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n", "needy/Chart.yaml": "apiVersion: v2\nname: needy\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0}]\n",
		"bad/Chart.yaml": "apiVersion: v2\nname: bad\nversion: 1.0.0\n", "bad/templates/a.yaml": "{{ fail \"no\" }}",
	})
	write(t, filepath.Join(outside, "web"), web("1.0.0"))
	if err := os.Symlink(filepath.Join(outside, "web"), filepath.Join(dir, "linked")); err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string]string{
		"":                             "functionConfig is missing: want a RenderHelmChart.v1alpha1.fn.kpt.dev or a v1 ConfigMap",
		"apiVersion: v1\nkind: Secret": "functionConfig is a v1 Secret: want a fn.kpt.dev/v1alpha1 RenderHelmChart or a v1 ConfigMap",
		"apiVersion: v1\nkind: ConfigMap\ndata: {nam: x}":                "data.nam is not known",
		"apiVersion: v1\nkind: ConfigMap\ndata: {name: x, skipTests: y}": `data.skipTests is "y": want true or false`,
		typed:                                   "functionConfig has no helmCharts: name at least one chart",
		typed + "helmCharts: [{chartArgs: {}}]": "helmCharts[0]: chartArgs.name must be given",
		typed + "helmCharts: [{chartArgs: {name: x, auth: {kind: ConfigMap, name: c}}}]":                                `helmCharts[0]: chartArgs.auth is the ConfigMap "c": want kind Secret and a name`,
		typed + "helmCharts: [{chartArgs: {name: lib}}]":                                                                "chart lib: it is a library, which has nothing to render",
		typed + "helmCharts: [{chartArgs: {name: needy}}]":                                                              "chart needy: it needs db, which is not in its directory charts: run `helm dependency build`",
		typed + "helmCharts: [{chartArgs: {name: lib, version: 2.0.0}}]":                                                "chart lib: want version 2.0.0, but lib has version 1.0.0",
		typed + "helmCharts: [{chartArgs: {name: bad}}]":                                                                "chart bad: execution error at (bad/templates/a.yaml:1:3): no",
		typed + "helmCharts: [{chartArgs: {name: none}}]":                                                               "chart none: tmp/charts/none is not in the directory of " + DirectoryVariable,
		typed + "helmCharts: [{chartArgs: {name: ../../etc}}]":                                                          "chart ../../etc: etc is not in the directory of " + DirectoryVariable,
		typed + "helmCharts: [{chartArgs: {name: linked}}]":                                                             "chart linked: statat linked/Chart.yaml: path escapes from parent",
		typed + "helmCharts: [{chartArgs: {name: none, repo: http://x}}]":                                               `chart none: tmp/charts/none is not in the directory of ` + DirectoryVariable + `, and may not be downloaded unless ` + downloadVariable + ` is "true"`,
		typed + "helmCharts: [{chartArgs: {name: lib}, templateOptions: {values: {valuesMerge: x}}}]":                   `helmCharts[0]: templateOptions.values.valuesMerge is "x": want override, merge or replace`,
		typed + "helmCharts: [{chartArgs: {name: bad}, templateOptions: {values: {valuesFiles: [none.yaml]}}}]":         "chart bad: none.yaml is not in the directory of " + DirectoryVariable,
		typed + "helmCharts: [{chartArgs: {name: bad}, templateOptions: {values: {valuesFiles: ['http://x/v.yaml']}}}]": `chart bad: http://x/v.yaml may not be downloaded unless ` + downloadVariable + ` is "true"`,
		typed + "helmCharts: [{chartArgs: {name: bad}, templateOptions: {kubeVersion: x}}]":                             `chart bad: templateOptions.kubeVersion is "x": could not parse "x" as version`,
	} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			got, err := evaluate(t, "", config, DirectoryVariable+"="+dir)
			if functiontest.ErrorText(err) != functiontest.Failed {
				t.Errorf("error = %v, want a function failure", err)
			}
			_, message, _ := strings.Cut(got, "  message: ")
			message, _, _ = strings.Cut(message, "\n")
			if message = strings.Trim(message, "'"); message != want {
				t.Errorf("message =\n%s\nwant\n%s", message, want)
			}
		})
	}
	got, err := evaluate(t, "", typed+"helmCharts: [{chartArgs: {name: web}}]")
	if want := "tmp/charts/web cannot be read: set " + DirectoryVariable + " to the directory that has it"; err == nil || !strings.Contains(got, want) {
		t.Errorf("without a directory: error = %v; output:\n%s", err, got)
	}
}

// Files listed in .helmignore and hidden files among templates are not part of a chart in a directory.
func TestIgnored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "web"), map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", ".helmignore": "# comment\n*.bak\n/notes/\ntemplates/old.yaml\n",
		"a.txt": "", "b.bak": "", "notes/c.txt": "", "templates/.swp.yaml": "{{ fail \"hidden\" }}", "templates/old.yaml": "{{ fail \"old\" }}",
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {files: '{{ range $name, $_ := .Files.Glob \"**\" }}{{ $name }} {{ end }}'}\n",
	})
	if err := os.Symlink("nothing", filepath.Join(dir, "web", "dangling.bak")); err != nil {
		t.Fatal(err)
	}
	got, err := evaluate(t, "", typed+"helmCharts: [{chartArgs: {name: web}}]", DirectoryVariable+"="+dir)
	if want := "data: {files: '.helmignore a.txt '}"; err != nil || !strings.Contains(got, want) {
		t.Errorf("error = %v, want %s; output:\n%s", err, want, got)
	}
	write(t, filepath.Join(dir, "web"), map[string]string{".helmignore": "a/**\n"})
	got, err = evaluate(t, "", typed+"helmCharts: [{chartArgs: {name: web}}]", DirectoryVariable+"="+dir)
	if want := "chart web: web/.helmignore: double-star (**) syntax is not supported"; err == nil || !strings.Contains(got, want) {
		t.Errorf("error = %v, want %s; output:\n%s", err, want, got)
	}
}
