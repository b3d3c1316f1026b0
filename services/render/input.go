// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
	"github.com/krmfn/krmfn/services/render/yamlprint"
)

// input is what a function gets.
type input struct {
	// all are the resources of the package, selected those of them that the function gets.
	all, selected []*yaml.RNode
	// config is the functionConfig; nil for none.
	config *yaml.RNode

	withSelectionIDs, withMigrationIDs bool
	// numbers are the places of those selected among all.
	numbers []int
}

func newInput(all, selected []*yaml.RNode, config *yaml.RNode) *input {
	in := &input{all: all, selected: selected, config: config, numbers: make([]int, 0, len(selected))}
	for number, r := range all {
		if next := len(in.numbers); next < len(selected) && selected[next] == r {
			in.numbers = append(in.numbers, number)
		}
	}
	return in
}

// encode writes the ResourceList. Resources carry ids in it, by which their output is known again; they have none any
// more when encode returns.
func (in *input) encode() ([]byte, error) {
	defer func() {
		for _, r := range in.selected {
			clearIDs(r)
		}
	}()
	for i, r := range in.selected {
		if err := resource.SetAnnotations(r, in.ids(i)...); err != nil {
			return nil, err
		}
	}
	list := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		str("apiVersion", 0), str(kio.ResourceListAPIVersion, 0), str("kind", 0), str(kio.ResourceListKind, 0), str("items", 0), itemsNode(in.selected),
	}}
	if in.config != nil {
		config, err := in.ownConfig()
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, str("functionConfig", 0), config.YNode())
	}
	return yamlprint.Print(list, yaml.CompactSequenceStyle)
}

func itemsNode(items []*yaml.RNode) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
	for _, r := range items {
		n.Content = append(n.Content, r.YNode())
	}
	return n
}
