// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/krmfn/internal/command/eval/directory"
	"github.com/krmfn/krmfn/services/render/packages"
)

func cm(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

func read(t *testing.T, files map[string]string) *directory.Directory {
	t.Helper()
	dir, err := packages.NewMemory(files)
	if err != nil {
		t.Fatal(err)
	}
	d, err := directory.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func paths(resources []*yaml.RNode) []string {
	list := make([]string, 0, len(resources))
	for _, r := range resources {
		list = append(list, resource.Path(r))
	}
	return list
}

func TestRead(t *testing.T) {
	t.Parallel()
	old := "apiVersion: kpt.dev/v1alpha2\nkind: Kptfile\nmetadata:\n  name: old\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"no package": {map[string]string{"b.yaml": cm("b"), "a/x.yaml": cm("x"), "README.md": "x"}, []string{"a/x.yaml", "b.yaml"}},
		"packages, old ones too": {
			map[string]string{"Kptfile": cm("odd"), "sub/Kptfile": old, "sub/b.yaml": cm("b"), "a.yaml": cm("a"), "sub.yaml": cm("s")},
			[]string{"Kptfile", "a.yaml", "sub/Kptfile", "sub/b.yaml", "sub.yaml"},
		},
		"a file ignored": {map[string]string{".krmignore": "a.yaml\n", "a.yaml": cm("a"), "b.yaml": cm("b"), "sub/Kptfile": old, "sub/a.yaml": cm("a")}, []string{"b.yaml", "sub/Kptfile", "sub/a.yaml"}},
		"a package ignored": {
			map[string]string{".krmignore": "!\nsub\n", "b.yaml": cm("b"), "sub/Kptfile": old, "sub/.krmignore": "b.yaml", "sub/deep/Kptfile": old, "sub/deep/a.yaml": cm("a")},
			[]string{"b.yaml"},
		},
		"a package ignored below another": {
			map[string]string{"sub/Kptfile": old, "sub/.krmignore": "deep", "sub/deep/x/Kptfile": old, "other/deep/Kptfile": old},
			[]string{"other/deep/Kptfile", "sub/Kptfile"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := read(t, tc.files)
			if diff := cmp.Diff(tc.want, paths(d.Resources)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, r := range d.Resources {
				if text := r.MustString(); strings.Contains(text, "package-path") {
					t.Errorf("there is a package in\n%s", text)
				}
			}
		})
	}
}

// What comes out goes to the files of all packages, and files that have nothing left are deleted.
func TestOutput(t *testing.T) {
	t.Parallel()
	kf := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n"
	d := read(t, map[string]string{"a.yaml": cm("a"), "sub/Kptfile": kf, "sub/b.yaml": cm("b"), "fn.yaml": cm("fn")})
	config := d.Without("fn.yaml")
	if len(config) != 1 || slices.Contains(paths(d.Resources), "fn.yaml") {
		t.Errorf("fn.yaml is in %q", paths(d.Resources))
	}
	var kept []*yaml.RNode
	for _, r := range append(d.Resources, config...) {
		if resource.Path(r) == "sub/b.yaml" {
			continue
		}
		if resource.Path(r) == "sub/Kptfile" {
			if err := r.SetName("changed"); err != nil {
				t.Fatal(err)
			}
		}
		kept = append(kept, r)
	}
	output, err := d.Output(kept)
	if err != nil {
		t.Fatal(err)
	}
	want := []packages.Change{
		{Path: "sub/Kptfile", Before: []byte(kf), After: []byte(strings.Replace(kf, "sub", "changed", 1))},
		{Path: "sub/b.yaml", Before: []byte(cm("b"))},
	}
	if diff := cmp.Diff(want, output.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	made := yaml.MustParse(kf)
	for _, tc := range []struct{ path, want string }{{"Kptfile", ""}, {"/etc/x.yaml", "package paths may not be absolute paths"}} {
		if err := resource.SetAnnotation(made, resource.PathAnnotation, tc.path); err != nil {
			t.Fatal(err)
		}
		_, err := d.Output([]*yaml.RNode{made})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.path, err, tc.want)
		}
	}
}

func TestReadFails(t *testing.T) {
	t.Parallel()
	dir, err := packages.NewMemory(map[string]string{"sub/Kptfile": "a: [\n"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := directory.Read(dir); err == nil || !strings.Contains(err.Error(), "/sub/Kptfile: MalformedYAMLError: yaml: ") {
		t.Errorf("got error %v", err)
	}
}
