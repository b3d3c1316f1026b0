// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagecontext_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/packagerevision/packagecontext"
)

const (
	kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: edge-dns # mine\n"
	head    = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n" +
		"    config.kubernetes.io/local-config: \"true\"\ndata:\n"
	other = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name:   other   # kept as it is\n"
	old   = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  name: old\n  more: gone\n"
)

func TestGenerate(t *testing.T) {
	t.Parallel()
	full := packagecontext.Context{Path: "regions/eu/edge-dns", Repository: "blueprints", Namespace: "default", Deployment: true}
	fullData := "  name: edge-dns\n  package-path: regions/eu/edge-dns\n  repository: blueprints\n  namespace: default\n  deployment: \"true\"\n"
	for _, tc := range []struct {
		name     string
		in, want map[string]string
		context  packagecontext.Context
	}{
		{
			"as Porch has it",
			map[string]string{"Kptfile": kptfile},
			map[string]string{"Kptfile": kptfile, "package-context.yaml": head + "  name: edge-dns\n  package-path: regions/eu/edge-dns\n"},
			packagecontext.Context{Path: "regions/eu/edge-dns"},
		},
		{
			"nothing known",
			map[string]string{"Kptfile": kptfile},
			map[string]string{"Kptfile": kptfile, "package-context.yaml": head + "  name: edge-dns\n"},
			packagecontext.Context{},
		},
		{
			"all that is promised",
			map[string]string{"Kptfile": kptfile},
			map[string]string{"Kptfile": kptfile, "package-context.yaml": head + fullData},
			full,
		},
		{
			"values that look like others",
			map[string]string{"Kptfile": strings.Replace(kptfile, "edge-dns", `"on"`, 1)},
			map[string]string{
				"Kptfile":              strings.Replace(kptfile, "edge-dns", `"on"`, 1),
				"package-context.yaml": head + "  name: \"on\"\n  package-path: \"0123\"\n  repository: \"true\"\n",
			},
			packagecontext.Context{Path: "/0123/", Repository: "true"},
		},
		{
			"every former context goes",
			map[string]string{
				"Kptfile": kptfile, "package-context.yaml": old, "sub/Kptfile": kptfile, "sub/package-context.yaml": old,
				"mixed.yaml": other + "---\n" + old + "---\n" + strings.Replace(other, "other", "third", 1), "README.md": "kptfile.kpt.dev",
			},
			map[string]string{
				"Kptfile": kptfile, "package-context.yaml": head + fullData, "sub/Kptfile": kptfile,
				"mixed.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other # kept as it is\n---\n" +
					"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: third # kept as it is\n",
				"README.md": "kptfile.kpt.dev",
			},
			full,
		},
		{
			"what shares the file stays",
			map[string]string{"Kptfile": kptfile, "package-context.yaml": other},
			map[string]string{
				"Kptfile":              kptfile,
				"package-context.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other # kept as it is\n---\n" + head + fullData,
			},
			full,
		},
		{
			"no root package",
			map[string]string{"sub/Kptfile": kptfile, "package-context.yaml": old, "a.txt": "x"},
			map[string]string{"sub/Kptfile": kptfile, "a.txt": "x"},
			full,
		},
		{
			"files that are no YAML",
			map[string]string{"Kptfile": kptfile, "chart/t.yaml": "{{ broken", "t.json": `{"name": "kptfile.kpt.dev"`},
			map[string]string{
				"Kptfile": kptfile, "package-context.yaml": head + fullData,
				"chart/t.yaml": "{{ broken", "t.json": `{"name": "kptfile.kpt.dev"`,
			},
			full,
		},
		{"nothing", map[string]string{}, map[string]string{}, full},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := packagecontext.Generate(tc.in, tc.context)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Generate() (-want +got):\n%s", diff)
			}
			twice, err := packagecontext.Generate(got, tc.context)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, twice); diff != "" {
				t.Errorf("Generate() twice (-once +twice):\n%s", diff)
			}
		})
	}
}

func TestGenerateErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"broken Kptfile": {map[string]string{"Kptfile": "a: ["}, "Kptfile: "},
		"no name": {
			map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\n"},
			"the Kptfile of the package has no metadata.name, which is needed for package-context.yaml",
		},
		"broken context": {map[string]string{"Kptfile": kptfile, "a/b.yaml": "kptfile.kpt.dev: ["}, "a/b.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := packagecontext.Generate(tc.files, packagecontext.Context{})
			want := `failed to evaluate function "builtins/gen-pkg-context": ` + tc.want
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("Generate() = %v, want %s…", err, want)
			}
		})
	}
}

func TestPlaceholder(t *testing.T) {
	t.Parallel()
	got, err := packagecontext.Placeholder("example")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(head+"  name: example\n", got); diff != "" {
		t.Errorf("Placeholder() (-want +got):\n%s", diff)
	}
}
