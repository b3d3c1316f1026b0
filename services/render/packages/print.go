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

	"github.com/krmfn/krmfn/services/render/resource"
	"github.com/krmfn/krmfn/services/render/yamlnode"
	"github.com/krmfn/krmfn/services/render/yamlprint"
)

// WriteDocuments prints resources as YAML documents, without the annotations of their place; one that belongs to a JSON
// file, alone, as JSON.
//
// kio.ByteWriter writes the same in twice the time, because it copies all that it is given: it is left what is not plain.
// TestDocumentsAreKyamls holds the two equal.
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

// printDocument prints a resource as a YAML document.
func printDocument(r *yaml.RNode) ([]byte, error) {
	return printContent(r, resource.WithoutPlace(r.Document()))
}

// printContent prints a resource, of which the content is without annotations of its place.
func printContent(r *yaml.RNode, content *yaml.Node) ([]byte, error) {
	if content == r.Document() || yamlnode.Position(r.YNode(), yaml.BareSeqNodeWrappingKey) >= 0 {
		var b bytes.Buffer
		// Without a path it is not taken for JSON.
		own := r.Copy()
		yamlnode.QuoteUnreadable(own.Document())
		resource.ClearAnnotations(own, resource.PathAnnotation, resource.FormerPathAnnotation)
		err := kio.ByteWriter{Writer: &b, ClearAnnotations: resource.PlaceAnnotations}.Write([]*yaml.RNode{own})
		return b.Bytes(), err
	}
	return yamlprint.Print(content, yaml.SequenceIndentStyle(resource.Annotation(r, resource.SeqIndentAnnotation)))
}

// PrintFile prints the resources of one file, in the order of their index annotations, those without one last. Annotations
// that say where a resource is are left out.
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

// indexed is a resource and its index annotation.
type indexed struct {
	*yaml.RNode
	index int
}

// unindexed is the index of a resource without the annotation.
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

// WriteResourceList prints resources as one ResourceList, in which the annotations of path, index and indentation stay.
// The paths are relative to the tree's root.
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

// ParseFile reads the resources of one file on its own, whatever its name. They are annotated with the path, and what else
// PrintFile needs to print them as they were.
func ParseFile(path string, content []byte) ([]*yaml.RNode, error) {
	resources, err := parse(content, path, "/")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return resources, nil
}
