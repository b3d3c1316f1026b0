// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/resource"
)

// input is what a function gets.
type input struct {
	// all are the resources of the package, selected those of them that the function gets.
	all, selected []*yaml.RNode
	// config is the functionConfig; nil for none.
	config *yaml.RNode

	withSelectionIDs, withMigrationIDs bool
}

// encode writes the ResourceList. Resources carry ids in it, by which their output is known again; they have none any
// more when encode returns.
func (in *input) encode() ([]byte, error) {
	defer clearIDs(in.all)
	if err := in.setIDs(); err != nil {
		return nil, err
	}
	items := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
	for _, r := range in.selected {
		items.Content = append(items.Content, r.YNode())
	}
	list := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		str("apiVersion", 0), str(kio.ResourceListAPIVersion, 0), str("kind", 0), str(kio.ResourceListKind, 0), str("items", 0), items,
	}}
	if in.config != nil {
		list.Content = append(list.Content, str("functionConfig", 0), in.config.YNode())
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	if err := encoder.Encode(list); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (in *input) setIDs() error {
	if in.withSelectionIDs {
		for i, r := range in.all {
			if err := resource.SetAnnotation(r, resource.SelectionIDAnnotation, strconv.Itoa(i)); err != nil {
				return err
			}
		}
	}
	for i, r := range in.selected {
		if in.withMigrationIDs {
			if err := resource.SetAnnotation(r, resource.MigrationIDAnnotation, strconv.Itoa(i)); err != nil {
				return err
			}
		}
		for _, key := range []string{resource.IDAnnotation, resource.FormerIDAnnotation} {
			if err := resource.SetAnnotation(r, key, strconv.Itoa(i+1)); err != nil {
				return err
			}
		}
	}
	return nil
}

func clearIDs(resources []*yaml.RNode) {
	for _, r := range resources {
		resource.ClearAnnotations(r, resource.IDAnnotation, resource.FormerIDAnnotation, resource.MigrationIDAnnotation,
			resource.SelectionIDAnnotation)
	}
}

// origin returns the resource that an output's resource was before, by the ids that it still has; nil for a new one.
func (in *input) origin(r *yaml.RNode) *yaml.RNode {
	for _, key := range []string{resource.IDAnnotation, resource.FormerIDAnnotation} {
		if n, err := strconv.Atoi(resource.Annotation(r, key)); err == nil && n > 0 && n <= len(in.selected) {
			return in.selected[n-1]
		}
	}
	return nil
}
