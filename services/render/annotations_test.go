// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
)

const (
	breadthFirst = "  annotations: {kpt.dev/bfs-rendering: \"TRUE\"}\n"
	savedFailure = "  annotations: {kpt.dev/save-on-render-failure: \"true\"}\n"
)

// only returns a function that keeps the resources of some packages and marks them.
func only(name string, keep func(location string) bool) func([]byte) ([]byte, error) {
	marked := mark(name)
	dropping := items(func(nodes []*yaml.RNode) []*yaml.RNode {
		var kept []*yaml.RNode
		for _, n := range nodes {
			if keep(resource.Annotation(n, resource.PackageAnnotation)) {
				kept = append(kept, n)
			}
		}
		return kept
	})
	return func(in []byte) ([]byte, error) {
		out, err := dropping(in)
		if err != nil {
			return nil, err
		}
		return marked(out)
	}
}

func TestBreadthFirst(t *testing.T) {
	t.Parallel()
	r := renderFiles(t, map[string]string{
		"Kptfile": kpt(breadthFirst + mutators("root")), "r.yaml": cm("r"),
		"b/Kptfile": kpt(mutators("b")), "b/b.yaml": cm("b"),
		"a/Kptfile": kpt(mutators("a")), "a/a.yaml": cm("a"),
		"a/x/Kptfile": kpt(mutators("x")), "a/x/x.yaml": cm("x"),
		"gone/Kptfile": kpt(mutators("never")), "gone/g.yaml": cm("g"), "gone/below/Kptfile": kpt(mutators("never")),
	}, functions{
		"root": only("R", func(location string) bool { return location != "/gone" && location != "/gone/below" }),
		"a":    mark("A"), "b": mark("B"), "x": mark("X"),
	})
	if r.err != nil {
		t.Fatal(r.err)
	}
	got := map[string]string{}
	for _, n := range r.Resources {
		if resource.Kind(n) == "ConfigMap" {
			got[resource.Name(n)] = resource.Annotation(n, "seen")
		}
	}
	if diff := cmp.Diff(map[string]string{"r": "R", "a": "RA", "b": "RB", "x": "RAX"}, got); diff != "" {
		t.Errorf("functions that saw a resource (-want +got):\n%s", diff)
	}
	for p := range r.files {
		if len(p) > 4 && p[:4] == "gone" {
			t.Errorf("%s still exists", p)
		}
	}
	var order []string
	for _, f := range r.Report.Functions {
		order = append(order, f.Package)
	}
	if diff := cmp.Diff([]string{".", "a", "b", "a/x"}, order); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}

func TestBreadthFirstErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sub, want string
		ran       int
	}{
		"a function fails":    {kpt(mutators("bad")), "fn.render: pkg /:\n\tpkg.render:\n\tpipeline.run: pkg /a: function \"bad:latest\" not found", 1},
		"an invalid pipeline": {kpt(mutators("{image: a, exec: b}")), "fn.render: pkg /:\n\tpkg.render:\n\tpkg.read: pkg /a: invalid pipeline: function \"a\": Kptfile is invalid:\nField: `pipeline.mutators[0]`\nReason: must not specify both `image` and `exec` at the same time\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := renderFiles(t, map[string]string{"Kptfile": kpt(breadthFirst + mutators("ok")), "a/Kptfile": tc.sub}, functions{"ok": each()})
			if r.err == nil || r.err.Error() != tc.want {
				t.Errorf("error = %v, want %q", r.err, tc.want)
			}
			if len(r.fake.inputs) != tc.ran {
				t.Errorf("%d functions ran", len(r.fake.inputs))
			}
		})
	}
}

// On failure, saved files have the changes made before it. Packages that were not reached stay unchanged.
func TestSaveOnFailure(t *testing.T) {
	t.Parallel()
	rename := items(func(nodes []*yaml.RNode) []*yaml.RNode {
		for _, n := range nodes {
			if resource.Name(n) == "b" {
				resource.ClearAnnotations(n, resource.FormerPathAnnotation)
				if err := resource.SetAnnotation(n, resource.PathAnnotation, "renamed.yaml"); err != nil {
					panic(err)
				}
			}
		}
		return nodes
	})
	files := map[string]string{
		"Kptfile": kpt(savedFailure + mutators("never")), "r.yaml": cm("r"),
		"a/Kptfile": kpt(mutators("ok")), "a/a.yaml": cm("a"),
		"b/Kptfile": kpt(mutators("ok", "rename", "bad", "never")), "b/b.yaml": cm("b"),
		"c/Kptfile": kpt(mutators("ok")), "c/c.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}} # as it is\n\n",
	}
	r := renderFiles(t, files, functions{"ok": each(annotate("by", "ok")), "rename": rename})
	if r.err == nil {
		t.Fatal("the render succeeded, want an error")
	}
	want := maps.Clone(files)
	delete(want, "b/b.yaml")
	want["a/a.yaml"] += "  annotations:\n    by: 'ok'\n"
	want["b/renamed.yaml"] = files["b/b.yaml"] + "  annotations:\n    by: 'ok'\n"
	for _, p := range []string{"a/Kptfile", "b/Kptfile"} {
		want[p] = kpt("  annotations:\n    by: 'ok'\n" + files[p][len(kpt("")):])
	}
	got := maps.Clone(files)
	for _, c := range r.Output.Changes {
		delete(got, c.Path)
		if c.After != nil {
			got[c.Path] = string(c.After)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
