// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// FuzzPlain reads files in both ways: what the quick one reads is what kyaml's reader reads.
func FuzzPlain(f *testing.F) {
	const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	for _, seed := range []string{
		cm, cm + "---\n" + cm, "---\n" + cm, cm + "---", cm + "---\n", cm + "--- # comment\n" + cm, cm + "--- text\n" + cm, cm + "\n\n---\n---\n\n" + cm,
		"# head\n\n# of it\n" + cm + "# foot\n", cm + "---\n# only a comment\n---\n" + cm, cm + "data:\n  text: |\n    a\n\n---\n" + cm,
		cm + "  annotations:\n    a: b # c\n", cm + "  annotations: {a: b}\n", cm + "  annotations: {}\n", cm + "  annotations:\n", cm + "  annotations: text\n",
		cm + "  annotations:\n    config.kubernetes.io/path: x.yaml\n", cm + "  annotations:\n    a: 1\n", cm + "  annotations: {'config.kubernetes.io/index': '7'}\n",
		cm + "spec:\n- a\n---\n" + cm + "spec:\n  - a\n---\n" + cm, "metadata: {name: a}\n", "metadata: {}\n", "metadata:\n", "metadata: &m {name: a}\nspec: *m\n",
		"metadata:\n  <<: {annotations: {a: b}}\n  name: a\n", cm + "metadata:\n  name: b\n", "? {a: b}\n: c\n" + cm, "- a\n- b\n", "null\n", "text", "a: &a [*a]\n", "%YAML 1.1\n---\n" + cm,
		cm + "...\n", "!!map\n" + cm, "{metadata: {name: a, annotations: {b: c}}}", "!!str metadata:\n  name: a\n",
		cm + "  annotations:\n    a: &x b\n    c: *x\n", cm + "  annotations:\n    a: >-\n      b\n      c\n", cm + "  annotations: !!map\n    a: b\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		got, ok := readPlain([]byte(content), "dir/a.yaml", "/package")
		if !ok {
			return
		}
		want, err := read([]byte(content), "dir/a.yaml", "/package")
		if err != nil {
			t.Fatalf("kyaml's reader refuses it: %v", err)
		}
		if diff := cmp.Diff(nodes(want), nodes(got)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// TestPlain makes sure that ordinary files are read in the quick way.
func TestPlain(t *testing.T) {
	t.Parallel()
	const deployment = "# licence\n\napiVersion: apps/v1\nkind: Deployment\nmetadata: # m\n  name: a\n  annotations:\n    a: b\nspec:\n  containers:\n  - name: c\n"
	got, ok := readPlain([]byte("---\n"+deployment+"---\n"+deployment), "a.yaml", "/package")
	if !ok || len(got) != 2 {
		t.Errorf("%d resources, %t", len(got), ok)
	}
}

func nodes(all []*yaml.RNode) []*yaml.Node {
	list := make([]*yaml.Node, 0, len(all))
	for _, r := range all {
		tag(r.Document())
		list = append(list, r.Document())
	}
	return list
}

// tag says what goes without saying: kyaml leaves it out now and then.
func tag(n *yaml.Node) {
	if n.Kind != yaml.DocumentNode && n.Tag == "" {
		n.Tag = n.ShortTag()
	}
	for _, below := range n.Content {
		tag(below)
	}
}
