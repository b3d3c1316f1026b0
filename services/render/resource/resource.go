// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package resource looks at one KRM resource of a package as a YAML node: what identifies it, its annotations, where it
// belongs. It walks nodes directly, because a render asks these questions many times for each resource.
package resource

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// APIVersion returns the resource's apiVersion; "" when it has none.
func APIVersion(r *yaml.RNode) string { return text(r, yaml.APIVersionField) }

// Kind returns the resource's kind; "" when it has none.
func Kind(r *yaml.RNode) string { return text(r, yaml.KindField) }

// Name returns the resource's metadata.name; "" when it has none.
func Name(r *yaml.RNode) string { return text(r, yaml.MetadataField, yaml.NameField) }

// Namespace returns the resource's metadata.namespace; "" when it has none.
func Namespace(r *yaml.RNode) string { return text(r, yaml.MetadataField, yaml.NamespaceField) }

// Label returns a label; ok tells whether the resource has it.
func Label(r *yaml.RNode, key string) (value string, ok bool) {
	n := yamlnode.Lookup(r.YNode(), yaml.MetadataField, yaml.LabelsField, key)
	return yamlnode.Text(n), n != nil
}

func text(r *yaml.RNode, path ...string) string {
	return yamlnode.Text(yamlnode.Lookup(r.YNode(), path...))
}
