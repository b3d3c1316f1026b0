// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"io"
	"path"
	"slices"

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
// It writes what kio.ByteWriter writes, which copies all that it is given and is left only what is not plain.
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
