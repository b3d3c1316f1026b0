// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"slices"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/parallel"
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
	parts := in.parts()
	texts := make([]bytes.Buffer, len(parts))
	err := parallel.Each(len(parts), func(i int) error {
		encoder := yaml.NewEncoder(&texts[i])
		if err := encoder.Encode(parts[i]); err != nil {
			return err
		}
		return encoder.Close()
	})
	if err != nil {
		return nil, err
	}
	var list bytes.Buffer
	for i := range texts {
		list.Write(texts[i].Bytes())
	}
	return list.Bytes(), nil
}

// partSize is how many items are printed by themselves. What an encoder holds on to grows with all that it has printed.
const partSize = 50

// parts returns nodes whose texts, one after the other, are the text of the list: its head with the first items, more
// items, the functionConfig. It is one node where the text of an item could depend on the items around it.
func (in *input) parts() []*yaml.Node {
	first, rest := in.selected, []*yaml.RNode(nil)
	if len(in.selected) > partSize && in.plain() {
		first, rest = in.selected[:partSize], in.selected[partSize:]
	}
	list := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		str("apiVersion", 0), str(kio.ResourceListAPIVersion, 0), str("kind", 0), str(kio.ResourceListKind, 0), str("items", 0), itemsNode(first),
	}}
	parts := []*yaml.Node{list}
	for part := range slices.Chunk(rest, partSize) {
		parts = append(parts, itemsNode(part))
	}
	if in.config == nil {
		return parts
	}
	if len(rest) > 0 {
		list = &yaml.Node{Kind: yaml.MappingNode}
		parts = append(parts, list)
	}
	list.Content = append(list.Content, str("functionConfig", 0), in.config.YNode())
	return parts
}

func itemsNode(items []*yaml.RNode) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
	for _, r := range items {
		n.Content = append(n.Content, r.YNode())
	}
	return n
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
