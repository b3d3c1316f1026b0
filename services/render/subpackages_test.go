// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

type functions = map[string]func([]byte) ([]byte, error)

// mark returns a function that appends its name to the annotation "seen" of every item.
func mark(name string) func([]byte) ([]byte, error) {
	return items(func(nodes []*yaml.RNode) []*yaml.RNode {
		for _, n := range nodes {
			if err := resource.SetAnnotation(n, "seen", resource.Annotation(n, "seen")+name); err != nil {
				panic(err)
			}
		}
		return nodes
	})
}

func TestDepthFirst(t *testing.T) {
	t.Parallel()
	r := renderFiles(t, map[string]string{
		"Kptfile": kpt(mutators("root")), "r.yaml": cm("r"),
		"b/Kptfile": kpt(mutators("b")), "b/b.yaml": cm("b"),
		"a/Kptfile": kpt(mutators("a")), "a/a.yaml": cm("a"),
		"a/mid/x/Kptfile": kpt(mutators("x")), "a/mid/x/x.yaml": cm("x"),
		"a-b/Kptfile": kpt(""), "a-b/ab.yaml": cm("ab"),
	}, functions{"root": mark("R"), "a": mark("A"), "b": mark("B"), "x": mark("X")})
	if r.err != nil {
		t.Fatal(r.err)
	}
	got := map[string]string{}
	for _, n := range r.Resources {
		if resource.Kind(n) == "ConfigMap" {
			got[resource.Name(n)] = resource.Annotation(n, "seen")
		}
	}
	if diff := cmp.Diff(map[string]string{"r": "R", "a": "AR", "ab": "R", "b": "BR", "x": "XAR"}, got); diff != "" {
		t.Errorf("functions that saw a resource (-want +got):\n%s", diff)
	}
	var order, places []string
	for _, f := range r.Report.Functions {
		order = append(order, f.Package+" "+f.Image)
	}
	for _, n := range r.Resources {
		places = append(places, resource.Annotation(n, resource.PackageAnnotation)+" "+resource.Path(n))
	}
	if diff := cmp.Diff([]string{"a/mid/x x:latest", "a a:latest", "b b:latest", ". root:latest"}, order); diff != "" {
		t.Errorf("functions (-want +got):\n%s", diff)
	}
	want := []string{"/ Kptfile", "/ r.yaml", "/a Kptfile", "/a a.yaml", "/a/mid/x Kptfile", "/a/mid/x x.yaml", "/a-b Kptfile", "/a-b ab.yaml", "/b Kptfile", "/b b.yaml"}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if want := `started: a/mid/x("/a/x", 2, 1) a("/a", 1, 1) a-b("/a-b", 1, 0) b("/b", 1, 1) .("/", 0, 1)`; r.events[0] != want {
		t.Errorf("first event = %s", r.events[0])
	}
}

func TestParentChangesSubpackages(t *testing.T) {
	t.Parallel()
	change := items(func(nodes []*yaml.RNode) []*yaml.RNode {
		var kept []*yaml.RNode
		for _, n := range nodes {
			switch resource.Name(n) {
			case "gone":
				continue
			case "moved":
				resource.ClearAnnotations(n, resource.FormerPathAnnotation)
				if err := resource.SetAnnotation(n, resource.PathAnnotation, "new/place.yaml"); err != nil {
					panic(err)
				}
			}
			kept = append(kept, n)
		}
		added := yaml.MustParse(cm("added"))
		if err := resource.SetAnnotation(added, resource.PackageAnnotation, "/sub"); err != nil {
			panic(err)
		}
		return append(kept, added, yaml.MustParse(cm("own")))
	})
	files := map[string]string{
		"Kptfile": kpt(mutators("fn")), "sub/Kptfile": kpt(""), "sub/gone.yaml": cm("gone"), "sub/moved.yaml": cm("moved"),
		"sub/kept.yaml": cm("kept"), "sub/notes.txt": "n", "s.yaml": cm("s"),
	}
	r := renderFiles(t, files, functions{"fn": change})
	if r.err != nil {
		t.Fatal(r.err)
	}
	delete(files, "sub/gone.yaml")
	delete(files, "sub/moved.yaml")
	files["sub/new/place.yaml"], files["sub/configmap_added.yaml"], files["configmap_own.yaml"] = cm("moved"), cm("added"), cm("own")
	if diff := cmp.Diff(files, r.files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestSubpackageErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sub  map[string]string
		want string
		ran  int
	}{
		"a function fails": {
			map[string]string{"sub/Kptfile": kpt(mutators("bad"))},
			"pkg.render: pkg /sub:\n\tpipeline.run: function \"bad:latest\" not found", 1,
		},
		"deeper": {
			map[string]string{"sub/Kptfile": kpt(""), "sub/x/Kptfile": kpt(mutators("bad"))},
			"pkg.render: pkg /sub:\n\tpkg /sub/x:\n\tpipeline.run: function \"bad:latest\" not found", 1,
		},
		"an unreadable Kptfile fails before the package is due": {
			map[string]string{"sub/Kptfile": "bogus: 1\n" + kpt("")},
			"pkg.render:\n\tpkg.Subpackages: pkg /sub: error reading Kptfile at \"/sub\": yaml: unmarshal errors:\n  line 1: field bogus not found in type v1.KptFile", 0,
		},
		"an invalid pipeline fails when the package is due": {
			map[string]string{"sub/Kptfile": kpt(mutators("{image: a, exec: b}"))},
			"pkg.render: pkg /sub:\n\tpkg.read: invalid pipeline: function \"a\": Kptfile is invalid:\nField: `pipeline.mutators[0]`\nReason: must not specify both `image` and `exec` at the same time\n", 1,
		},
		"an unreadable file": {
			map[string]string{"sub/Kptfile": kpt(""), "sub/a.yaml": "a: [\n"},
			"pkg.render: pkg /sub:\n\tpkg.readResources: /sub/a.yaml: MalformedYAMLError: yaml: line 1: did not find expected node content", 1,
		},
		"an invalid resource": {
			map[string]string{"sub/Kptfile": kpt(""), "sub/a.yaml": "kind: a\n"},
			"pkg.render: pkg /sub:\n\tinput resource list must contain only KRM resources: a.yaml: resource must have `apiVersion`", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"Kptfile": kpt(""), "before/Kptfile": kpt(mutators("ok")), "z/Kptfile": kpt(mutators("ok"))}
			maps.Copy(files, tc.sub)
			r := renderFiles(t, files, functions{"ok": each()})
			if r.err == nil {
				t.Fatal("the render succeeded, want an error")
			}
			if got := strings.TrimPrefix(r.err.Error(), "fn.render: pkg /:\n\t"); got != tc.want {
				t.Errorf("error = %q\nwant %q", got, tc.want)
			}
			ran := 0
			for _, f := range r.Report.Functions {
				if f.Ran {
					ran++
				}
			}
			if ran != tc.ran || r.Output.Changes != nil {
				t.Errorf("%d functions ran, want %d; output = %v", ran, tc.ran, r.Output)
			}
		})
	}
}

func TestTopmost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"root":       {map[string]string{"Kptfile": kpt(""), "a/Kptfile": kpt("")}, ". 2"},
		"not root":   {map[string]string{"x/y/Kptfile": kpt(mutators("fn")), "x/y/z/Kptfile": kpt(""), "n.yaml": cm("n")}, "x/y 2"},
		"several":    {map[string]string{"a/b/Kptfile": kpt(""), "d/Kptfile": kpt(mutators("fn")), "c/Kptfile": kpt(mutators("fn"))}, "c 1"},
		"no package": {map[string]string{"a.yaml": cm("a")}, ". 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, err := packages.NewMemory(tc.files)
			if err != nil {
				t.Fatal(err)
			}
			fn := &fake{functions: functions{"fn:latest": each(annotate("a", "b"))}}
			result, err := render.Package(t.Context(), source, render.Options{Topmost: true, Evaluator: fn})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(result.Package, len(result.Resources)); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(tc.want, " ", "") {
				t.Errorf("started = %s", got)
			}
			for _, c := range result.Output.Changes {
				if !strings.HasPrefix(c.Path, result.Package+"/") {
					t.Errorf("%s changed, want no change", c.Path)
				}
			}
		})
	}
}
