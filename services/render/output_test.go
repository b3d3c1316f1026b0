// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
)

// shuffled returns a function that loses comments, the order of fields, and styles.
func shuffled(change func(map[string]any)) func([]byte) ([]byte, error) {
	return func(in []byte) ([]byte, error) {
		var list map[string]any
		if err := yaml.Unmarshal(in, &list); err != nil {
			return nil, err
		}
		for _, item := range list["items"].([]any) {
			change(item.(map[string]any))
		}
		return json.Marshal(list)
	}
}

func TestCommentsAndOrderAreRestored(t *testing.T) {
	t.Parallel()
	const before = `# Head.
apiVersion: apps/v1 # line
kind: Deployment
metadata: # behind a key
  name: web
spec:
  # above replicas
  replicas: 1
  template:
    spec:
      containers:
        # above a container
        - name: b # its name
          image: x
        - name: a
          args:
            - one # first
            - two
          nothing: null
# Foot.
`
	r := renderFiles(t, map[string]string{"Kptfile": kpt(mutators("{image: fn, selectors: [{kind: Deployment}]}")), "d.yaml": before},
		map[string]func([]byte) ([]byte, error){"fn": shuffled(func(item map[string]any) {
			spec := item["spec"].(map[string]any)
			spec["replicas"] = 3
			spec["added"] = "new"
		})})
	if r.err != nil {
		t.Fatal(r.err)
	}
	got := r.files["d.yaml"]
	// JSON output is quoted and in flow style. Styles are not restored, comments and order are.
	var values, want any
	if err := yaml.Unmarshal([]byte(got), &values); err != nil {
		t.Fatalf("decoding: %v; text:\n%s", err, got)
	}
	changed := strings.NewReplacer("replicas: 1", "replicas: 3", "  template:", "  added: new\n  template:").Replace(before)
	if err := yaml.Unmarshal([]byte(changed), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	for _, comment := range []string{"# Head.", "# line", "# behind a key", "# above replicas", "# above a container", "# its name", "# first", "# Foot."} {
		if !strings.Contains(got, comment) {
			t.Errorf("comment %q is missing in:\n%s", comment, got)
		}
	}
	last := -1
	for _, field := range []string{"apiVersion", "kind", "metadata", "spec", "replicas", "template", "containers", "image", "args", "added"} {
		at := strings.Index(got, `"`+field+`"`)
		if at < last {
			t.Errorf("field %q is out of order in:\n%s", field, got)
		}
		last = at
	}
}

func TestPlacesOfOutput(t *testing.T) {
	t.Parallel()
	added := func(nodes []*yaml.RNode) []*yaml.RNode {
		return append(nodes, yaml.MustParse("apiVersion: v1\nkind: Secret\nmetadata:\n  name: Gen\n  namespace: ns\nlist:\n- a\n"))
	}
	move := func(key string) func([]*yaml.RNode) []*yaml.RNode {
		return func(nodes []*yaml.RNode) []*yaml.RNode {
			if err := resource.SetAnnotation(nodes[1], key, "moved/to.yaml"); err != nil {
				panic(err)
			}
			return nodes
		}
	}
	drop := func(nodes []*yaml.RNode) []*yaml.RNode { return nodes[:1] }
	strip := func(nodes []*yaml.RNode) []*yaml.RNode {
		resource.ClearAnnotations(nodes[1], resource.PathAnnotation, resource.FormerPathAnnotation, resource.IndexAnnotation,
			resource.FormerIndexAnnotation, resource.PackageAnnotation, resource.IDAnnotation, resource.FormerIDAnnotation)
		return nodes
	}
	for name, tc := range map[string]struct {
		function func([]*yaml.RNode) []*yaml.RNode
		want     map[string]string
	}{
		"generated":                    {added, map[string]string{"a.yaml": cm("a"), "ns/secret_Gen.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: Gen\n  namespace: ns\nlist:\n- a\n"}},
		"renamed by annotation":        {move(resource.PathAnnotation), map[string]string{"moved/to.yaml": cm("a")}},
		"renamed by former annotation": {move(resource.FormerPathAnnotation), map[string]string{"moved/to.yaml": cm("a")}},
		"deleted":                      {drop, map[string]string{}},
		"without its annotations":      {strip, map[string]string{"configmap_a.yaml": cm("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kptfile := kpt(mutators("fn"))
			r := renderFiles(t, map[string]string{"Kptfile": kptfile, "a.yaml": cm("a"), "notes.txt": "n"},
				map[string]func([]byte) ([]byte, error){"fn": items(tc.function)})
			if r.err != nil {
				t.Fatal(r.err)
			}
			tc.want["Kptfile"], tc.want["notes.txt"] = kptfile, "n"
			if diff := cmp.Diff(tc.want, r.files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAliasesAcrossItems(t *testing.T) {
	t.Parallel()
	r := renderFiles(t, map[string]string{"Kptfile": kpt(mutators("{image: fn, exclude: [{kind: Kptfile}]}")), "a.yaml": cm("a"), "b.yaml": cm("b")},
		map[string]func([]byte) ([]byte, error){"fn": func(in []byte) ([]byte, error) {
			out := strings.Replace(string(in), "    name: a\n", "    name: a\n    labels: &id001 {k: v}\n", 1)
			return []byte(strings.Replace(out, "    name: b\n", "    name: b\n    labels: *id001\n", 1)), nil
		}})
	if r.err != nil {
		t.Fatal(r.err)
	}
	if want := cm("b") + "  labels: {k: v}\n"; r.files["b.yaml"] != want {
		t.Errorf("b.yaml =\n%s", r.files["b.yaml"])
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	labelled := func(name, label string) string {
		return "apiVersion: v1\nkind: Service\nmetadata:\n  name: " + name + "\n  namespace: ns\n  labels: {app: " + label + "}\n"
	}
	files := map[string]string{"a.yaml": cm("a"), "b.yaml": cm("b"), "s.yaml": labelled("s", "x"), "t.yaml": labelled("t", "y")}
	for selection, want := range map[string]string{
		"selectors: [{kind: ConfigMap}]":                                      "a b",
		"selectors: [{kind: ConfigMap, name: b}]":                             "b",
		"selectors: [{kind: ConfigMap}, {name: a}, {apiVersion: v1}]":         "a b s t",
		"selectors: [{namespace: ns}]":                                        "s t",
		"selectors: [{labels: {app: x}}]":                                     "s",
		"selectors: [{labels: {app: ''}}]":                                    "",
		"selectors: [{annotations: {config.kubernetes.io/path: a.yaml}}]":     "a",
		"selectors: [{}]":                                                     "app a b s t",
		"selectors: [{kind: Service}], exclude: [{labels: {app: y}}]":         "s",
		"exclude: [{kind: Kptfile}, {}]":                                      "a b s t",
		"exclude: [{kind: Kptfile}, {kind: ConfigMap}, {name: s}]":            "t",
		"selectors: [{kind: Deployment}]":                                     "",
		"selectors: [{kind: Service, name: a}]":                               "",
		"selectors: [], exclude: [{annotations: {a: b}}, {kind: Service}]":    "app a b",
		"selectors: [{kind: Service, namespace: ns, labels: {app: x, b: c}}]": "",
	} {
		t.Run(selection, func(t *testing.T) {
			t.Parallel()
			in := map[string]string{"Kptfile": kpt(mutators("{image: fn, " + selection + "}"))}
			maps.Copy(in, files)
			var got []string
			r := renderFiles(t, in, map[string]func([]byte) ([]byte, error){"fn": items(func(nodes []*yaml.RNode) []*yaml.RNode {
				for _, n := range nodes {
					got = append(got, n.GetName())
					if err := resource.SetAnnotation(n, "seen", "yes"); err != nil {
						panic(err)
					}
				}
				return nodes
			})})
			if r.err != nil {
				t.Fatal(r.err)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("function input = %q, want %q", strings.Join(got, " "), want)
			}
			for p := range files {
				selected := strings.Contains(" "+want+" ", " "+strings.TrimSuffix(p, ".yaml")+" ")
				if seen := strings.Contains(r.files[p], "seen: 'yes'"); seen != selected {
					t.Errorf("%s: changed = %v", p, seen)
				}
			}
		})
	}
}

func TestMergeOfSelection(t *testing.T) {
	t.Parallel()
	r := renderFiles(t, map[string]string{
		"Kptfile":  kpt(mutators("{image: fn, selectors: [{kind: ConfigMap}]}")),
		"all.yaml": cm("a") + "---\n" + strings.Replace(cm("x"), "ConfigMap", "Secret", 1) + "---\n" + cm("b") + "---\n" + cm("c"),
	}, map[string]func([]byte) ([]byte, error){"fn": items(func(nodes []*yaml.RNode) []*yaml.RNode {
		// a is deleted. b and c swap places, and c loses its selection id. d is new and has the selection id of a resource that
		// was not selected.
		resource.ClearAnnotations(nodes[2], resource.SelectionIDAnnotation)
		d := yaml.MustParse(cm("d"))
		if err := resource.SetAnnotation(d, resource.SelectionIDAnnotation, "2"); err != nil {
			panic(err)
		}
		return []*yaml.RNode{nodes[2], d, nodes[1]}
	})})
	if r.err != nil {
		t.Fatal(r.err)
	}
	var got []string
	for _, n := range r.Resources {
		got = append(got, resource.Path(n)+" "+n.GetName())
	}
	want := []string{"Kptfile app", "all.yaml x", "all.yaml b", "all.yaml c", "configmap_d.yaml d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}
