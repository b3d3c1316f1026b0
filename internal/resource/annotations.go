// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// Annotations that preserve the origin of resources when they pass through functions. Path, index and id each have an older
// key, which functions may use instead.
const (
	PathAnnotation        = kioutil.PathAnnotation
	FormerPathAnnotation  = "config.kubernetes.io/path"
	IndexAnnotation       = kioutil.IndexAnnotation
	FormerIndexAnnotation = "config.kubernetes.io/index"
	// PackageAnnotation holds the absolute path of the directory of the resource's package.
	PackageAnnotation = "internal.config.kubernetes.io/package-path"
	// SeqIndentAnnotation holds the indentation of sequences in the resource's document: "wide" or "compact".
	SeqIndentAnnotation = kioutil.SeqIndentAnnotation
)

// Annotations that are set only while a function runs, to match its output with its input.
const (
	IDAnnotation       = kioutil.IdAnnotation
	FormerIDAnnotation = "config.k8s.io/id"
	// MigrationIDAnnotation numbers the resources of a function's input, because the function may change path and index.
	MigrationIDAnnotation = kioutil.InternalAnnotationsMigrationResourceIDAnnotation
	// SelectionIDAnnotation numbers the resources of a package before a function gets a selection of them.
	SelectionIDAnnotation = "internal.config.kubernetes.io/kpt-resource-id"
)

// Annotation returns the value of an annotation, or "" if the resource does not have it.
func Annotation(r *yaml.RNode, key string) string {
	value, _ := LookupAnnotation(r, key)
	return value
}

// LookupAnnotation returns the value of an annotation. ok reports whether the resource has it.
func LookupAnnotation(r *yaml.RNode, key string) (value string, ok bool) {
	n := yamlnode.Lookup(r.YNode(), yaml.MetadataField, yaml.AnnotationsField, key)
	return yamlnode.Text(n), n != nil
}

// ReadAnnotations stores the values of the annotations keys in values. It leaves elements of missing annotations unchanged. It
// is faster than calling Annotation for each key.
func ReadAnnotations(r *yaml.RNode, keys, values []string) {
	annotations := yamlnode.Lookup(r.YNode(), yaml.MetadataField, yaml.AnnotationsField)
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		return
	}
	// If a key is duplicated, the first one wins, as in Lookup.
	for i := len(annotations.Content)/2*2 - 2; i >= 0; i -= 2 {
		if k := annotations.Content[i]; k.Kind == yaml.ScalarNode {
			if at := slices.Index(keys, k.Value); at >= 0 {
				values[at] = yamlnode.Text(yamlnode.Resolve(annotations.Content[i+1]))
			}
		}
	}
}

// SetAnnotation sets an annotation. A new one has single quotes, an existing one keeps its style. It fails if metadata or
// annotations is not a mapping.
func SetAnnotation(r *yaml.RNode, key, value string) error {
	return SetAnnotations(r, KeyValue{key, value})
}

// KeyValue is an annotation's key and value.
type KeyValue struct{ Key, Value string }

// SetAnnotations sets several annotations. It is faster than repeated calls of SetAnnotation.
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

// ClearAnnotations removes annotations, and the annotations field if none is left.
func ClearAnnotations(r *yaml.RNode, keys ...string) {
	meta := yamlnode.Lookup(r.YNode(), yaml.MetadataField)
	annotations := yamlnode.Lookup(meta, yaml.AnnotationsField)
	yamlnode.Remove(annotations, keys...)
	if annotations != nil && annotations.Kind == yaml.MappingNode && len(annotations.Content) == 0 {
		yamlnode.Remove(meta, yaml.AnnotationsField)
	}
}

// child returns the mapping at a key. It creates the mapping if the key is missing or null.
func child(mapping *yaml.Node, key string) (*yaml.Node, error) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("cannot annotate the resource: the parent of %s is not a mapping", key)
	}
	n := yamlnode.Lookup(mapping, key)
	switch {
	case yamlnode.IsNull(n):
		made := yamlnode.MakeMapping(mapping, yamlnode.String(key, 0))
		made.Style = 0 // Like kyaml's reader.
		return made, nil
	case n.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("cannot annotate the resource: %s is not a mapping", key)
	}
	return n, nil
}
