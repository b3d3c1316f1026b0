// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// FuzzPlain compares parse, and the plain reader for each document, with kyaml's reader.
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
		got, err := parse([]byte(content), "dir/a.yaml", "/package")
		if err != nil {
			return
		}
		want, err := read([]byte(content), "dir/a.yaml", "/package")
		if err != nil {
			t.Fatalf("kyaml's reader fails: %v", err)
		}
		if diff := cmp.Diff(nodes(want), nodes(got)); diff != "" {
			t.Errorf("resources (-kyaml +got)\n%s", diff)
		}
	})
}

// TestPlain checks that ordinary files take the fast path.
func TestPlain(t *testing.T) {
	t.Parallel()
	const deployment = "# licence\n\napiVersion: apps/v1\nkind: Deployment\nmetadata: # m\n  name: a\n  annotations:\n    a: b\nspec:\n  containers:\n  - name: c\n"
	r, ok := readPlain("---\n"+deployment, 0, "a.yaml", "/package")
	if !ok || r == nil {
		t.Errorf("readPlain() = %v, %t, want a resource", r, ok)
	}
}

// plainDocuments are documents that the plain reader must support, because most resources look like them.
var plainDocuments = []string{
	"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # line\n  annotations:\n    config.kubernetes.io/index: '0'\n    x: \"a b\" # c\n  labels: {}\ndata:\n  key: http://x:80/#y\n",
	"---\napiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 3\n  on: true\n  none: null\n  half: 0.5\n  template:\n    containers:\n    - name: a\n      args: []\n      command:\n      - sh   # line\n      -   more:  x\n          y: 2024-01-01\n    - name: b\n  list:\n    - 1\n    - _a\n",
	"a:\n  - 1\n  - b: c\n    d: {}\n  - e\nf: g",
	"- a: b\n- c\n",
	"# licence ©\n# of it\n\n\n# more\n\n# above\n# it\na: b\n\n# c\nd: --e=f # g\n\n# h\ni:\n  # j\n  k: $(l)\n  m:\n  # n\n  - o\n  # p\n  - q: -1\n    # r\n    s: ~\n\n\n",
	"---\n\n# above\na: b\n",
	"# licence\n\n- a\n# c\n- b\n",
	"a: |\n  b\n   c: d \n  \te\tf\n\n    \n  # no comment\n  é\n\nd:\n- |-\n    e\n\n\n# c\n- |+\n f\n\n- g: |\n    h\n\n  # c\n  i: j\n",
	"kind: Kptfile\nmetadata: {name: a}\nlist:\n- image: x\n  configMap: {on: true,   b/c-d:  1.5, e: /x}\n- {a: b-c}\n",
}

func TestPlainDocuments(t *testing.T) {
	t.Parallel()
	for _, text := range plainDocuments {
		if !samePlain(t, text) {
			t.Errorf("readPlainDocument() does not support:\n%s", text)
		}
	}
}

func FuzzPlainDocument(f *testing.F) {
	for _, text := range plainDocuments {
		f.Add(text)
	}
	for _, text := range []string{"a: b\n  c\n", "a: b\n# c\n", "a:\n- b\nc: d\n", "a:\n  - b\n  c: d\n", "- - a\n", "a: 'b' c\n", "a: b: c\n", "...: a\n", "a: ... b\n", "a: &b c\n", "a:\n\nb: c\n", "# a\n---\nb: c\n", "---\n# a\n\nb: c\n", "a: b\n# c\n\nd: e\n", "a: |\n\n  b\n", "a: |2\n   b\n", "a: |\nb: c\n", "a: |\n    b\n  # c\n", "a: b\n  # c\nd: e\n", "a: |\n  b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { samePlain(t, text) })
}

// TestPlainLines draws documents from lines that the plain reader supports, or that it only just does not support, in any
// order.
func TestPlainLines(t *testing.T) {
	t.Parallel()
	line := rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 4).Draw(t, "other") == 0 {
			return rapid.SampledFrom([]string{"", "", "# c", "  # c", "# c ", " ", "# é", "    # c", "#\tc", "# c\t", "\t# c", "\ttext", "  \ttext", "    text\t", "    text", "  - text", "   text: |"}).Draw(t, "line")
		}
		return strings.Repeat(" ", 2*rapid.IntRange(0, 3).Draw(t, "indent")) + rapid.SampledFrom([]string{"", "", "- ", "-   ", "- - "}).Draw(t, "item") +
			rapid.SampledFrom([]string{"", "a: ", "b: ", "c/d.e-f:  ", "true: ", "1: ", "a:", "-a: ", "a b: ", "'a': ", "..."}).Draw(t, "key") +
			rapid.SampledFrom([]string{
				"", "x", "x y", "1", "0x1f", "1.5", "~", "null", "yes", "true", "2024-01-01", "'x'", "'it''s'", "\"x\"", "\"\\n\"", "''", "{}", "[]", "{a: b}", "|", "x:", "x: y", "{a: b, c: d}", "{a: 1 }", "{ a: on}", "{a}", "{a: b,}", "{a: {b: c}}", "{a: b} c", "|-", "|+", "|1", "--a=b", "-", "- b", "$x", "<a", "+1", "{<<: b}", "{a: b: c}", "{a: ...}", "a:b", "x#y", "- x", "-1", "...", "<<", "é",
			}).Draw(t, "value") + rapid.SampledFrom([]string{"", "", "", " # c", "  # c # d", " #", " ", "#c"}).Draw(t, "comment")
	})
	rapid.Check(t, func(t *rapid.T) {
		samePlain(t, strings.Join(rapid.SliceOfN(line, 1, 9).Draw(t, "lines"), "\n")+rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "end"))
	})
}

// samePlain reports whether the plain reader supports a document. If so, it compares the result with the decoder's.
func samePlain(t rapid.TB, text string) bool {
	t.Helper()
	got, ok := readPlainDocument(text)
	if !ok {
		return false
	}
	var want yaml.Node
	if err := yaml.NewDecoder(strings.NewReader(text)).Decode(&want); err != nil {
		t.Fatalf("the decoder fails for:\n%s\n%v", text, err)
	}
	if diff := cmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("document:\n%s\nnodes (-decoder +plain)\n%s", text, diff)
	}
	return true
}

func nodes(all []*yaml.RNode) []*yaml.Node {
	list := make([]*yaml.Node, 0, len(all))
	for _, r := range all {
		tag(r.Document())
		list = append(list, r.Document())
	}
	return list
}

// tag sets the tags that kyaml sometimes leaves empty.
func tag(n *yaml.Node) {
	if n.Kind != yaml.DocumentNode && n.Tag == "" {
		n.Tag = n.ShortTag()
	}
	for _, below := range n.Content {
		tag(below)
	}
}
