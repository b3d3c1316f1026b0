// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// PlaceAnnotations are the annotations that resources have only in memory. They record a resource's origin and identity.
var PlaceAnnotations = []string{
	PathAnnotation, FormerPathAnnotation, IndexAnnotation, FormerIndexAnnotation, PackageAnnotation, SeqIndentAnnotation,
	IDAnnotation, FormerIDAnnotation, MigrationIDAnnotation, SelectionIDAnnotation,
}

// WithoutPlace returns the resource without PlaceAnnotations. The result shares unchanged nodes with r. It is r itself if
// metadata or annotations is missing or not a mapping.
func WithoutPlace(r *yaml.Node) *yaml.Node {
	if r.Kind == yaml.DocumentNode && len(r.Content) == 1 {
		inner := WithoutPlace(r.Content[0])
		if inner == r.Content[0] {
			return r
		}
		own := *r
		own.Content = []*yaml.Node{inner}
		return &own
	}
	return replace(r, yaml.MetadataField, func(metadata *yaml.Node) *yaml.Node {
		return replace(metadata, yaml.AnnotationsField, func(annotations *yaml.Node) *yaml.Node {
			own := *annotations
			own.Content = make([]*yaml.Node, 0, len(annotations.Content))
			for i := 0; i+1 < len(annotations.Content); i += 2 {
				if !slices.Contains(PlaceAnnotations, annotations.Content[i].Value) {
					own.Content = append(own.Content, annotations.Content[i], annotations.Content[i+1])
				}
			}
			return &own
		})
	})
}

// reuseNodes replaces the content of to, a function's output, with the original nodes of from if the two differ at most in
// PlaceAnnotations. It reports whether it did. This keeps comments that functions do not see, or that parsing attaches to other
// fields.
func reuseNodes(from, to *yaml.RNode) bool {
	before, after := WithoutPlace(from.YNode()), WithoutPlace(to.YNode())
	annotations := yamlnode.Lookup(to.YNode(), yaml.MetadataField, yaml.AnnotationsField)
	if before == from.YNode() || after == to.YNode() || !yamlnode.Same(before, after) {
		return false
	}
	document := *from.Document()
	root := replace(from.YNode(), yaml.MetadataField, func(metadata *yaml.Node) *yaml.Node {
		return replace(metadata, yaml.AnnotationsField, func(*yaml.Node) *yaml.Node { return annotations })
	})
	if document.Kind == yaml.DocumentNode {
		document.Content = []*yaml.Node{root}
		root = &document
	}
	*to = *yaml.NewRNode(root)
	return true
}

// replace returns a copy of mapping in which value(m) replaces the mapping m at key. An empty replacement removes the key. If
// there is no mapping at key, or value returns m, it returns mapping itself.
func replace(mapping *yaml.Node, key string, value func(*yaml.Node) *yaml.Node) *yaml.Node {
	at := yamlnode.Position(mapping, key)
	if at < 0 || mapping.Content[at+1].Kind != yaml.MappingNode {
		return mapping
	}
	other := value(mapping.Content[at+1])
	if other == mapping.Content[at+1] {
		return mapping
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
