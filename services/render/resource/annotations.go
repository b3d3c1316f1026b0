// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// Annotations by which resources carry their place through functions. Path, index and id have an older form each, which
// functions may read and write just as well.
const (
	PathAnnotation        = kioutil.PathAnnotation
	FormerPathAnnotation  = "config.kubernetes.io/path"
	IndexAnnotation       = kioutil.IndexAnnotation
	FormerIndexAnnotation = "config.kubernetes.io/index"
	// PackageAnnotation is the absolute path of the directory of the package that a resource belongs to.
	PackageAnnotation = "internal.config.kubernetes.io/package-path"
	// SeqIndentAnnotation is "wide" or "compact": how the sequences of the resource's document are indented.
	SeqIndentAnnotation = kioutil.SeqIndentAnnotation
)

// Annotations that exist only while a function runs, to know its output's resources again.
const (
	IDAnnotation       = kioutil.IdAnnotation
	FormerIDAnnotation = "config.k8s.io/id"
	// MigrationIDAnnotation numbers the resources whose path and index a function may change.
	MigrationIDAnnotation = kioutil.InternalAnnotationsMigrationResourceIDAnnotation
	// SelectionIDAnnotation numbers the resources of a package of which a function gets a selection.
	SelectionIDAnnotation = "internal.config.kubernetes.io/kpt-resource-id"
)

// Annotation returns an annotation's value; "" when the resource does not have it.
func Annotation(r *yaml.RNode, key string) string {
	value, _ := LookupAnnotation(r, key)
	return value
}

// LookupAnnotation returns an annotation's value and whether the resource has it.
func LookupAnnotation(r *yaml.RNode, key string) (value string, ok bool) {
	n := yamlnode.Lookup(r.YNode(), yaml.MetadataField, yaml.AnnotationsField, key)
	return yamlnode.Text(n), n != nil
}

// ReadAnnotations puts the values of several annotations into values, "" for those that the resource does not have, in one look.
func ReadAnnotations(r *yaml.RNode, keys, values []string) {
	annotations := yamlnode.Lookup(r.YNode(), yaml.MetadataField, yaml.AnnotationsField)
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		return
	}
	// As everywhere, the first of several of the same name counts.
	for i := len(annotations.Content)/2*2 - 2; i >= 0; i -= 2 {
		if k := annotations.Content[i]; k.Kind == yaml.ScalarNode {
			if at := slices.Index(keys, k.Value); at >= 0 {
				values[at] = yamlnode.Text(yamlnode.Resolve(annotations.Content[i+1]))
			}
		}
	}
}

// SetAnnotation sets an annotation: a new one in single quotes, one that is there in the style that it has. The error says
// what stands where metadata or annotations should be.
func SetAnnotation(r *yaml.RNode, key, value string) error {
	return SetAnnotations(r, KeyValue{key, value})
}

// KeyValue is an annotation.
type KeyValue struct{ Key, Value string }

// SetAnnotations sets several annotations as SetAnnotation does, one after the other, in less time.
func SetAnnotations(r *yaml.RNode, values ...KeyValue) error {
	annotations, err := child(yamlnode.Resolve(r.YNode()), yaml.MetadataField)
	if err == nil {
		annotations, err = child(annotations, yaml.AnnotationsField)
	}
	if err != nil {
		return err
	}
	nodes := yamlnode.Copier{Slab: 2 * len(values)}
	for i, value := range values {
		if n := yamlnode.Lookup(annotations, value.Key); n != nil {
			n.Kind, n.Tag, n.Value, n.Content = yaml.ScalarNode, yaml.NodeTagString, value.Value, nil
			continue
		}
		if before := annotations.Content; len(before)+2 > cap(before) {
			annotations.Content = append(nodes.Links(len(before) + 2*(len(values)-i))[:0], before...)
		}
		key, text := nodes.Node(), nodes.Node()
		*key, *text = yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: value.Key}, *yamlnode.String(value.Value, yaml.SingleQuotedStyle)
		annotations.Content = append(annotations.Content, key, text)
	}
	return nil
}

// ClearAnnotations removes annotations, and the whole map when none is left.
func ClearAnnotations(r *yaml.RNode, keys ...string) {
	meta := yamlnode.Lookup(r.YNode(), yaml.MetadataField)
	annotations := yamlnode.Lookup(meta, yaml.AnnotationsField)
	yamlnode.Remove(annotations, keys...)
	if annotations != nil && annotations.Kind == yaml.MappingNode && len(annotations.Content) == 0 {
		yamlnode.Remove(meta, yaml.AnnotationsField)
	}
}

// child returns the mapping below a key, and makes it where there is nothing.
func child(mapping *yaml.Node, key string) (*yaml.Node, error) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("cannot annotate a resource whose %s has no mapping to be in", key)
	}
	n := yamlnode.Lookup(mapping, key)
	switch {
	case yamlnode.IsNull(n):
		made := yamlnode.MakeMapping(mapping, yamlnode.String(key, 0))
		made.Style = 0 // as kyaml's reader makes it
		return made, nil
	case n.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("cannot annotate a resource whose %s is no mapping", key)
	}
	return n, nil
}
