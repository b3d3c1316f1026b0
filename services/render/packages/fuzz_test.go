// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render/packages"
)

// FuzzRead parses arbitrary content as a file of a package. It must yield an error or resources that can be printed, and never
// panic.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		cm("a") + "---\n" + cm("b"), "# c\n---\n...\n", "a: &a [*a]\n", "- a\n- b\n", "{a: b}", "text", "? [a]\n: b\n",
		"metadata: &m {annotations: {a: b}}\nspec: *m\n", "metadata:\n  annotations: text\n", "a: !!binary x\n<<: {b: c}\n", "a: |+\n  b\n\n",
	} {
		f.Add(seed, "a.yaml")
		f.Add(seed, "a.json")
	}
	f.Fuzz(func(t *testing.T, content, name string) {
		source, err := packages.NewMemory(map[string]string{"Kptfile": kpt, name: content, ".krmignore": content})
		if err != nil {
			return
		}
		tree, err := packages.Open(source)
		if err != nil {
			t.Fatal(err)
		}
		p, err := read(tree, ".")
		if err != nil {
			return
		}
		out, err := tree.Output(p.Resources, p)
		if err != nil {
			return
		}
		for _, c := range out.Changes {
			if c.Path != path.Clean(strings.TrimLeft(name, "/")) && c.Path != "Kptfile" {
				t.Errorf("Output() changes unmodified file %q", c.Path)
			}
		}
		_ = tree.WriteResourceList(&bytes.Buffer{}, p.Resources)
	})
}

// FuzzPath gives a resource an arbitrary path. Output must reject it or write it inside the tree, and must not overwrite
// another file.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"x.yaml", "../x.yaml", "/etc/x", "sub/s.yaml", ".git/config", ".GIT/x", ".g\u200cit/x", "git~1 /x", "a/../../b", "a//b", ".", "", "a.yaml/b", "\x00", "Kptfile"} {
		f.Add(seed, "/", "0")
		f.Add(seed, "/sub", "")
		f.Add(seed, seed, seed)
	}
	f.Fuzz(func(t *testing.T, path, location, index string) {
		source := memory(t, map[string]string{"Kptfile": kpt, "a.yaml": cm("a"), "README.md": "text", "sub/Kptfile": kpt, "sub/s.yaml": cm("s")})
		before := source.Files()
		tree, p := open(t, source)
		r := yaml.MustParse(cm("new"))
		annotate(t, r, path, index)
		if err := resource.SetAnnotation(r, resource.PackageAnnotation, location); err != nil {
			t.Fatal(err)
		}
		out, err := tree.Output(append(p.Resources, r), p)
		if err != nil {
			return
		}
		for _, c := range out.Changes {
			if !fs.ValidPath(c.Path) || strings.HasPrefix(strings.ToLower(c.Path), ".git/") {
				t.Errorf("Output() writes %q, which is not a valid path", c.Path)
			}
			if old, exists := before[c.Path]; exists && (c.Before == nil || string(c.Before) != old) {
				t.Errorf("Output() overwrites %q", c.Path)
			}
		}
		source.Apply(out.Changes)
		if _, err := packages.NewMemory(source.Files()); err != nil {
			t.Errorf("NewMemory() of the written files = %v", err)
		}
	})
}

// Reading and printing a printed file again changes neither its bytes nor its meaning.
func TestPrintingIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := strings.Join(rapid.SliceOfN(rapid.Custom(document), 1, 4).Draw(t, "documents"), "---\n")
		first := printed(t, content)
		if diff := cmp.Diff(values(t, content), values(t, first)); diff != "" {
			t.Fatalf("printing changes values (-before +after):\n%s\nof:\n%s", diff, content)
		}
		if diff := cmp.Diff(first, printed(t, first)); diff != "" {
			t.Fatalf("printing again changes (-first +second):\n%s\nof:\n%s", diff, content)
		}
	})
}

func printed(t *rapid.T, content string) string {
	source, err := packages.NewMemory(map[string]string{"Kptfile": kpt, "a.yaml": content})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := packages.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	p, err := read(tree, ".")
	if err != nil {
		t.Fatalf("printing: %v; content:\n%s", err, content)
	}
	out, err := tree.Output(p.Resources, p)
	if err != nil {
		t.Fatal(err)
	}
	source.Apply(out.Changes)
	return source.Files()["a.yaml"]
}

func values(t *rapid.T, content string) []any {
	var all []any
	for doc := range strings.SplitSeq("\n"+content, "\n---\n") {
		var v any
		if err := yaml.Unmarshal([]byte(doc), &v); err != nil {
			t.Fatalf("decoding: %v; document:\n%s", err, doc)
		}
		all = append(all, v)
	}
	return all
}

// document draws a resource in one of the usual styles. It draws no block scalars with "|+", because go.yaml.in/yaml adds a
// line end to such a scalar if a comment follows.
func document(t *rapid.T) string {
	var b strings.Builder
	if rapid.Bool().Draw(t, "head") {
		b.WriteString("# head\n")
	}
	b.WriteString("apiVersion: v1\nkind: ConfigMap # line\nmetadata:\n  name: x\n")
	seq := rapid.SampledFrom([]string{"", "  "}).Draw(t, "sequence")
	for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
		value := rapid.SampledFrom([]string{
			"plain", "'single'", `"double \n \" x"`, "1", "1.50", "true", "~", "{a: b, c: [d]}", "[]", "\"yes\"", "|\n  a\n   b\n\n  c", ">-\n  a\n  b",
			"a # comment", "\n  deep:\n    deeper: x # y", "\n  # before\n  a: b", "\n" + seq + "- a\n" + seq + "- b: c\n" + seq + "  d: e # f",
		}).Draw(t, "value")
		fmt.Fprintf(&b, "field%d: %s\n", i, value)
	}
	if rapid.Bool().Draw(t, "foot") {
		b.WriteString("# foot\n")
	}
	return b.String()
}
