// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render/packages"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	source := memory(t, map[string]string{
		"Kptfile": kpt, "a.yaml": cm("a0") + "---\n" + cm("a1"), "b.yaml": cm("b"), "c.yaml": cm("c"), "README.md": "text",
	})
	tree, p := open(t, source)
	by := map[string]*yaml.RNode{}
	for _, r := range p.Resources {
		by[resource.Name(r)] = r
	}
	added := yaml.MustParse(cm("added"))
	annotate(t, added, "a.yaml", "")
	annotate(t, by["a0"], "a.yaml", "7")
	annotate(t, by["b"], "new/dir/b.yaml", "0")
	out, err := tree.Output([]*yaml.RNode{by["app"], by["a0"], added, by["a1"], by["b"]}, p)
	if err != nil {
		t.Fatal(err)
	}
	want := []packages.Change{
		{Path: "a.yaml", Before: []byte(cm("a0") + "---\n" + cm("a1")), After: []byte(cm("a1") + "---\n" + cm("a0") + "---\n" + cm("added"))},
		{Path: "b.yaml", Before: []byte(cm("b"))},
		{Path: "c.yaml", Before: []byte(cm("c"))},
		{Path: "new/dir/b.yaml", After: []byte(cm("b"))},
	}
	if diff := cmp.Diff(want, out.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	source.Apply(out.Changes)
	got := source.Files()
	if len(got) != 4 || got["new/dir/b.yaml"] != cm("b") || got["README.md"] != "text" || got["Kptfile"] != kpt {
		t.Errorf("files after Apply = %v", got)
	}
}

func TestOutputErrors(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"Kptfile": kpt, "a.yaml": cm("a"), "README.md": "text", "d/x.txt": "text", "sub/Kptfile": kpt, "sub/s.yaml": cm("s"), ".git/config": "text",
	}
	for name, tc := range map[string]struct{ path, index, location, want string }{
		"outside":                 {path: "../x.yaml", want: "resource must be written under package /: ../x.yaml"},
		"another package outside": {path: "x.yaml", location: "relative", want: "annotated with another package"},
		"directory":               {path: "d", want: "config.kubernetes.io/path cannot be a directory: d"},
		"below a file":            {path: "a.yaml/x.yaml", want: "resource cannot be written to a.yaml/x.yaml: a.yaml is a file"},
		"in .git":                 {path: ".git/hooks/x.yaml", want: "git's own directory"},
		"in nested .git":          {path: "d/.git/x.yaml", want: "git's own directory"},
		".git in capitals":        {path: ".GIT/config", want: "git's own directory"},
		"not a resource file":     {path: "README.md", want: "must not be written to README.md"},
		"in a subpackage":         {path: "sub/s.yaml", want: "must not be written to sub/s.yaml"},
		"in annotated subpackage": {path: "s.yaml", location: "/sub", want: "must not be written to sub/s.yaml"},
		"no path":                 {path: "", want: `ConfigMap "a" has no path`},
		"root":                    {path: ".", want: `ConfigMap "a" has no path`},
		"index":                   {path: "x.yaml", index: "one", want: `index "one" of ConfigMap "a" is not a number`},
		"absolute":                {path: "/tmp/x.yaml", want: ""},
		"dots in a name":          {path: "x..y.yaml", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, p := open(t, memory(t, files))
			r := p.Resources[1]
			annotate(t, r, tc.path, tc.index)
			if tc.location != "" {
				if err := resource.SetAnnotation(r, resource.PackageAnnotation, tc.location); err != nil {
					t.Fatal(err)
				}
			}
			out, err := tree.Output(p.Resources, p)
			if tc.want == "" {
				if err != nil || len(out.Changes) != 2 || strings.HasPrefix(out.Changes[1].Path, "/") {
					t.Errorf("Output() = %v, %v, want a change and no error", out.Changes, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Output() error = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestWriters(t *testing.T) {
	t.Parallel()
	tree, p := open(t, memory(t, map[string]string{"Kptfile": kpt, "d/w.yaml": cm("w") + "list:\n  - a\n"}))
	var list, documents bytes.Buffer
	if err := tree.WriteResourceList(&list, p.Resources); err != nil {
		t.Fatal(err)
	}
	if err := packages.WriteDocuments(&documents, p.Resources); err != nil {
		t.Fatal(err)
	}
	wantList := `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata:
    name: app
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'Kptfile'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/path: 'Kptfile'
      internal.config.kubernetes.io/seqindent: 'compact'
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: w
    annotations:
      config.kubernetes.io/index: '0'
      config.kubernetes.io/path: 'd/w.yaml'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/path: 'd/w.yaml'
      internal.config.kubernetes.io/seqindent: 'wide'
  list:
  - a
`
	if diff := cmp.Diff(wantList, list.String()); diff != "" {
		t.Errorf("ResourceList (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(kpt+"---\n"+cm("w")+"list:\n  - a\n", documents.String()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func annotate(t *testing.T, r *yaml.RNode, path, index string) {
	t.Helper()
	for key, value := range map[string]string{
		resource.PathAnnotation: path, resource.FormerPathAnnotation: path,
		resource.IndexAnnotation: index, resource.FormerIndexAnnotation: index,
	} {
		if value == "" {
			resource.ClearAnnotations(r, key)
			continue
		}
		if err := resource.SetAnnotation(r, key, value); err != nil {
			t.Fatal(err)
		}
	}
}
