// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/internal/yamlprint"
)

// WriteDocuments prints resources as YAML documents without the origin annotations. A single resource of a JSON file is printed
// as JSON.
//
// The output equals that of kio.ByteWriter, which takes twice as long because it copies its input; WriteDocuments uses it only
// for resources that it cannot print itself. TestDocumentsAreKyamls compares the two.
func WriteDocuments(w io.Writer, resources []*yaml.RNode) error {
	if len(resources) == 1 && isJSON(resource.Path(resources[0]), 1) {
		return kio.ByteWriter{Writer: w, ClearAnnotations: resource.PlaceAnnotations}.Write(resources)
	}
	for i, r := range resources {
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		text, err := printDocument(r)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

func printDocument(r *yaml.RNode) ([]byte, error) {
	return printContent(r, resource.WithoutPlace(r.Document()))
}

// printContent prints content, which is the document of r without the origin annotations.
func printContent(r *yaml.RNode, content *yaml.Node) ([]byte, error) {
	if content == r.Document() || yamlnode.Position(r.YNode(), yaml.BareSeqNodeWrappingKey) >= 0 {
		var b bytes.Buffer
		// Without a path annotation, ByteWriter does not print the resource as JSON.
		own := r.Copy()
		yamlnode.QuoteUnreadable(own.Document())
		resource.ClearAnnotations(own, resource.PathAnnotation, resource.FormerPathAnnotation)
		err := kio.ByteWriter{Writer: &b, ClearAnnotations: resource.PlaceAnnotations}.Write([]*yaml.RNode{own})
		return b.Bytes(), err
	}
	return yamlprint.Print(content, yaml.SequenceIndentStyle(resource.Annotation(r, resource.SeqIndentAnnotation)))
}

// PrintFile prints the resources of one file without the origin annotations, sorted by index annotation. Resources without the
// annotation come last.
func PrintFile(resources []*yaml.RNode) ([]byte, error) {
	sorted, err := byIndex(resources)
	if err != nil {
		return nil, err
	}
	resources = make([]*yaml.RNode, len(sorted))
	for i, r := range sorted {
		resources[i] = r.RNode
	}
	var b bytes.Buffer
	if err := WriteDocuments(&b, resources); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// indexed is a resource with the value of its index annotation.
type indexed struct {
	*yaml.RNode
	index int
}

// unindexed is the index of a resource without an index annotation.
const unindexed = math.MaxInt

func byIndex(resources []*yaml.RNode) ([]indexed, error) {
	sorted := make([]indexed, len(resources))
	for i, r := range resources {
		sorted[i] = indexed{r, unindexed}
		text := resource.Index(r)
		if text == "" {
			continue
		}
		index, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("config.kubernetes.io/index %q of %s %q is not a number",
				text, resource.Kind(r), resource.Name(r))
		}
		sorted[i].index = index
	}
	slices.SortStableFunc(sorted, func(a, b indexed) int { return cmp.Compare(a.index, b.index) })
	return sorted, nil
}

// WriteResourceList prints resources as one ResourceList. It keeps the annotations for path, index and sequence indentation.
// Paths are relative to the tree's root.
func (t *Tree) WriteResourceList(w io.Writer, resources []*yaml.RNode) error {
	placed := make([]*yaml.RNode, 0, len(resources))
	for _, r := range resources {
		file, err := t.file(r)
		if err != nil {
			return err
		}
		r = r.Copy()
		yamlnode.QuoteUnreadable(r.Document())
		resource.ClearAnnotations(r, resource.PackageAnnotation, resource.IDAnnotation, resource.FormerIDAnnotation,
			resource.MigrationIDAnnotation, resource.SelectionIDAnnotation)
		err = resource.SetAnnotations(r, resource.KeyValue{Key: resource.PathAnnotation, Value: file},
			resource.KeyValue{Key: resource.FormerPathAnnotation, Value: file})
		if err != nil {
			return err
		}
		placed = append(placed, r)
	}
	return kio.ByteWriter{
		Writer:                w,
		KeepReaderAnnotations: true,
		WrappingAPIVersion:    kio.ResourceListAPIVersion,
		WrappingKind:          kio.ResourceListKind,
	}.Write(placed)
}

// ParseFile returns the resources of a single file with any name. It annotates them with the path and with what PrintFile needs
// to reproduce the file.
func ParseFile(path string, content []byte) ([]*yaml.RNode, error) {
	resources, err := parse(content, path, "/")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return resources, nil
}
