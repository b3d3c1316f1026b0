// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
	"github.com/krmfn/krmfn/services/render/yamlnode"
	"github.com/krmfn/krmfn/services/render/yamlprint"
)

// internalAnnotations are gone in what is written.
var internalAnnotations = []string{
	resource.PathAnnotation, resource.FormerPathAnnotation, resource.IndexAnnotation, resource.FormerIndexAnnotation,
	resource.PackageAnnotation, resource.SeqIndentAnnotation, resource.IDAnnotation, resource.FormerIDAnnotation,
	resource.MigrationIDAnnotation, resource.SelectionIDAnnotation,
}

// WriteDocuments prints resources as YAML documents, without the annotations of their place; one that belongs to a JSON
// file, alone, as JSON.
//
// kio.ByteWriter writes the same in twice the time, because it copies all that it is given: it is left what is not plain.
// TestDocumentsAreKyamls holds the two equal.
func WriteDocuments(w io.Writer, resources []*yaml.RNode) error {
	documents := make([]*yaml.Node, 0, len(resources))
	for _, r := range resources {
		document := withoutPlace(r.YNode())
		if document == nil || (len(resources) == 1 && path.Ext(resource.Path(r)) == ".json") {
			return kio.ByteWriter{Writer: w, ClearAnnotations: internalAnnotations}.Write(resources)
		}
		if r.Document().Kind == yaml.DocumentNode {
			outer := *r.Document()
			outer.Content = []*yaml.Node{document}
			document = &outer
		}
		documents = append(documents, document)
	}
	for i, document := range documents {
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		style := yaml.SequenceIndentStyle(resource.Annotation(resources[i], resource.SeqIndentAnnotation))
		text, err := yamlprint.Print(document, style)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// withoutPlace returns a resource without the annotations of its place, which shares with it all that is the same; nil
// where it is not plainly a mapping with annotations.
func withoutPlace(r *yaml.Node) *yaml.Node {
	if yamlnode.Position(r, yaml.BareSeqNodeWrappingKey) >= 0 {
		return nil
	}
	return replace(r, yaml.MetadataField, func(metadata *yaml.Node) *yaml.Node {
		return replace(metadata, yaml.AnnotationsField, func(annotations *yaml.Node) *yaml.Node {
			own := *annotations
			own.Content = make([]*yaml.Node, 0, len(annotations.Content))
			for i := 0; i+1 < len(annotations.Content); i += 2 {
				if !slices.Contains(internalAnnotations, annotations.Content[i].Value) {
					own.Content = append(own.Content, annotations.Content[i], annotations.Content[i+1])
				}
			}
			return &own
		})
	})
}

// replace returns a mapping with another mapping in a field, and without the field where that is empty; nil where there is
// no mapping in the field.
func replace(mapping *yaml.Node, key string, value func(*yaml.Node) *yaml.Node) *yaml.Node {
	at := yamlnode.Position(mapping, key)
	if at < 0 || mapping.Content[at+1].Kind != yaml.MappingNode {
		return nil
	}
	other := value(mapping.Content[at+1])
	if other == nil {
		return nil
	}
	own := *mapping
	if len(other.Content) == 0 {
		own.Content = slices.Concat(mapping.Content[:at], mapping.Content[at+2:])
		return &own
	}
	own.Content = slices.Clone(mapping.Content)
	own.Content[at+1] = other
	return &own
}

// PrintFile prints the resources of one file, in the order of their index annotations, those without one last. Annotations
// that say where a resource is are left out.
func PrintFile(resources []*yaml.RNode) ([]byte, error) {
	resources, err := byIndex(resources)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := WriteDocuments(&b, resources); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func byIndex(resources []*yaml.RNode) ([]*yaml.RNode, error) {
	type indexed struct {
		index int
		r     *yaml.RNode
	}
	sorted := make([]indexed, len(resources))
	for i, r := range resources {
		sorted[i] = indexed{math.MaxInt, r}
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
	out := make([]*yaml.RNode, len(sorted))
	for i, s := range sorted {
		out[i] = s.r
	}
	return out, nil
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
