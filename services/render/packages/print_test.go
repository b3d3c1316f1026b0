// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render/packages"
)

// WriteDocuments prints the same as kio.ByteWriter and does not modify the resources.
func TestDocumentsAreKyamls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.SampledFrom([]string{"a.yaml", "a.json"}).Draw(t, "file")
		content := strings.Join(rapid.SliceOfN(rapid.Custom(anyDocument), 1, 4).Draw(t, "documents"), "---\n")
		source, err := packages.NewMemory(map[string]string{"Kptfile": kpt, "dir/" + file: content})
		if err != nil {
			t.Fatal(err)
		}
		tree, err := packages.Open(source)
		if err != nil {
			t.Fatal(err)
		}
		p, err := read(tree, ".")
		if err != nil {
			t.Skip(err)
		}
		resources := p.Resources[1:]
		if rapid.Bool().Draw(t, "stripped") {
			resource.ClearAnnotations(resources[0], resource.PathAnnotation, resource.FormerPathAnnotation, resource.IndexAnnotation,
				resource.FormerIndexAnnotation, resource.PackageAnnotation, resource.SeqIndentAnnotation)
		}
		before := printedByKyaml(t, resources, kio.ByteWriter{KeepReaderAnnotations: true})
		var got bytes.Buffer
		if err := packages.WriteDocuments(&got, resources); err != nil {
			t.Fatal(err)
		}
		want := printedByKyaml(t, resources, kio.ByteWriter{ClearAnnotations: []string{
			resource.PathAnnotation, resource.FormerPathAnnotation, resource.PackageAnnotation, resource.IDAnnotation,
			resource.FormerIDAnnotation, resource.MigrationIDAnnotation, resource.SelectionIDAnnotation,
		}})
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("output (-kyaml +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, printedByKyaml(t, resources, kio.ByteWriter{KeepReaderAnnotations: true})); diff != "" {
			t.Errorf("WriteDocuments() modified the resources (-before +after):\n%s", diff)
		}
	})
}

func printedByKyaml(t *rapid.T, resources []*yaml.RNode, writer kio.ByteWriter) string {
	var b bytes.Buffer
	writer.Writer = &b
	if err := writer.Write(resources); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// anyDocument draws a document that is not necessarily a valid resource.
func anyDocument(t *rapid.T) string {
	odd := []string{
		"- a\n- b # c\n", "- metadata: {annotations: {a: b}}\n", "metadata: {}\n", "a: b\n", "metadata:\n  # c\n  annotations: # d\n    a: b\n",
		"metadata: &m {annotations: {a: b}}\nspec: *m\n", "# c\nmetadata:\n  annotations:\n    # own\n    config.kubernetes.io/path: x # y\n    a: b\n",
		"metadata: &m\n  annotations: &a {x: y}\nspec: {annotations: *a}\n", "bareSeqNodeWrappingKey:\n- a\n",
		"metadata: {name: a}\ntext: |+\n  b\n\n", "metadata: {name: a}\ntext: |+\n\n\n", "metadata: {name: a}\n# foot\n", "metadata: {name: a}\n\n# foot\n",
		"metadata: {name: a}\nlist:\n- b\n\n# foot\n", "metadata: {name: a}\nlist: []\n# foot\n\n# feet\n", "# head\n\n# of it\nmetadata: {name: a}\n",
		"metadata: {name: a}\nempty: \"\"\n", "metadata: {name: a}\nempty:\n",
	}
	if i := rapid.IntRange(0, 2*len(odd)).Draw(t, "odd"); i < len(odd) {
		return odd[i]
	}
	return document(t)
}
