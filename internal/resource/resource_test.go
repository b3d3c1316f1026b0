// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
)

func TestFields(t *testing.T) {
	t.Parallel()
	r := yaml.MustParse("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\n  labels: {app: web, none: }\n")
	got := []string{resource.APIVersion(r), resource.Kind(r), resource.Name(r), resource.Namespace(r)}
	if diff := cmp.Diff([]string{"apps/v1", "Deployment", "web", "shop"}, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	for key, want := range map[string]struct {
		value string
		ok    bool
	}{"app": {"web", true}, "none": {"", true}, "other": {"", false}} {
		if value, ok := resource.Label(r, key); value != want.value || ok != want.ok {
			t.Errorf("Label(%s) = %q, %v", key, value, ok)
		}
	}
	odd := yaml.MustParse("apiVersion: [a]\nkind: {a: b}\nmetadata: text\n")
	if got := resource.APIVersion(odd) + resource.Kind(odd) + resource.Name(odd); got != "" {
		t.Errorf("fields of a resource with fields of wrong types = %q, want none", got)
	}
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, set, cleared string }{
		{"no metadata", "kind: A\n", "kind: A\nmetadata:\n  annotations:\n    k: 'v'\n", "kind: A\nmetadata: {}\n"},
		{"null", "metadata:\n  annotations:\n", "metadata:\n  annotations:\n    k: 'v'\n", "metadata: {}\n"},
		{"others stay", "metadata:\n  annotations:\n    a: b # c\n", "metadata:\n  annotations:\n    a: b # c\n    k: 'v'\n", "metadata:\n  annotations:\n    a: b # c\n"},
		{
			"overwrites in its style", "metadata:\n  annotations:\n    k: \"1\" # c\n    a: b\n",
			"metadata:\n  annotations:\n    k: \"v\" # c\n    a: b\n", "metadata:\n  annotations:\n    a: b\n",
		},
		{"overwrites a sequence", "metadata:\n  annotations:\n    k: [1]\n", "metadata:\n  annotations:\n    k: v\n", "metadata: {}\n"},
		{
			"through an alias", "spec: &m\n  annotations: {a: b}\nmetadata: *m\n",
			"spec: &m\n  annotations: {a: b, k: 'v'}\nmetadata: *m\n", "spec: &m\n  annotations: {a: b}\nmetadata: *m\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := yaml.MustParse(tc.in)
			if err := resource.SetAnnotation(r, "k", "v"); err != nil {
				t.Fatal(err)
			}
			if got := resource.Annotation(r, "k"); got != "v" {
				t.Errorf("Annotation() = %q, want \"v\"", got)
			}
			if diff := cmp.Diff(tc.set, r.MustString()); diff != "" {
				t.Errorf("after SetAnnotation() (-want +got):\n%s", diff)
			}
			resource.ClearAnnotations(r, "k", "unknown")
			if diff := cmp.Diff(tc.cleared, r.MustString()); diff != "" {
				t.Errorf("after ClearAnnotations() (-want +got):\n%s", diff)
			}
		})
	}
	for _, in := range []string{"- a\n", "metadata: text\n", "metadata:\n  annotations: [a]\n"} {
		r := yaml.MustParse(in)
		if err := resource.SetAnnotation(r, "k", "v"); err == nil {
			t.Errorf("SetAnnotation() in %q = nil, want an error", in)
		}
		resource.ClearAnnotations(r, "k")
	}
}

func TestCheckKRM(t *testing.T) {
	t.Parallel()
	const path = "  annotations:\n    config.kubernetes.io/path: "
	for in, want := range map[string]string{
		"apiVersion: v1\nkind: A\nmetadata:\n  name: a\n": "",
		"spec: {}\n":                                    "resource must have `apiVersion`, `kind`, and `name`",
		"kind: A\nmetadata:\n  name: a\n":               "resource must have `apiVersion`",
		"apiVersion: v1\nmetadata:\n  name: a\n":        "resource must have `kind`",
		"apiVersion: v1\nkind: List\nitems: []\n":       "resource must have `metadata.name`",
		"apiVersion: v1\nkind: A\nmetadata:\n  name:\n": "resource must have `metadata.name`",
		"- a\n": "resource must have `apiVersion`, `kind`, and `name`",
		"metadata:\n" + path + "a/kustomization.yaml\n":                      "",
		"metadata:\n" + path + "kustomization.yaml/a.yaml\n":                 "resource must have `apiVersion`",
		"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n": "",
		"kind: Kustomization\n":                                              "",
		"apiVersion: v1\nkind: Kustomization\n":                              "resource must have `metadata.name`",
	} {
		got := ""
		if err := resource.CheckKRM(yaml.MustParse(in)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("CheckKRM(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSetDefaultPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"kind: Secret\nmetadata:\n  name: Gen\n  namespace: foo\n":                               "foo/secret_Gen.yaml",
		"kind: ConfigMap\nmetadata:\n  name: a\n":                                                "configmap_a.yaml",
		"kind: A\nmetadata:\n  name: a\n  annotations:\n    config.kubernetes.io/path: x.yaml\n": "x.yaml",
	} {
		r := yaml.MustParse(in)
		if err := resource.SetDefaultPath(r); err != nil || resource.Path(r) != want {
			t.Errorf("SetDefaultPath(%q): path = %q, error = %v, want %q", in, resource.Path(r), err, want)
		}
	}
}
