// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package resource looks at one KRM resource of a package as a YAML node: what identifies it, its annotations, where it
// belongs. It walks nodes directly, because a render asks these questions many times for each resource.
package resource

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// APIVersion returns the resource's apiVersion; "" when it has none.
func APIVersion(r *yaml.RNode) string { return text(field(r.YNode(), yaml.APIVersionField)) }

// Kind returns the resource's kind; "" when it has none.
func Kind(r *yaml.RNode) string { return text(field(r.YNode(), yaml.KindField)) }

// Name returns the resource's metadata.name; "" when it has none.
func Name(r *yaml.RNode) string { return text(field(metadata(r), yaml.NameField)) }

// Namespace returns the resource's metadata.namespace; "" when it has none.
func Namespace(r *yaml.RNode) string { return text(field(metadata(r), yaml.NamespaceField)) }

// Label returns a label; ok tells whether the resource has it.
func Label(r *yaml.RNode, key string) (value string, ok bool) {
	n := field(field(metadata(r), yaml.LabelsField), key)
	return text(n), n != nil
}

// Field returns the value of one of the resource's own fields, with aliases followed; nil when it has none.
func Field(r *yaml.RNode, key string) *yaml.Node { return field(r.YNode(), key) }

func metadata(r *yaml.RNode) *yaml.Node { return field(r.YNode(), yaml.MetadataField) }

// field returns a mapping's value, or nil.
func field(mapping *yaml.Node, key string) *yaml.Node {
	mapping = resolve(mapping)
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return resolve(mapping.Content[i+1])
		}
	}
	return nil
}

// resolve follows aliases and enters documents.
func resolve(n *yaml.Node) *yaml.Node {
	for n != nil {
		switch {
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		case n.Kind == yaml.DocumentNode && len(n.Content) > 0:
			n = n.Content[0]
		default:
			return n
		}
	}
	return nil
}

func text(n *yaml.Node) string {
	if isNull(n) || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == 0 || (n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagNull)
}
