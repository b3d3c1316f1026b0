// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/parallel"
	"github.com/krmfn/krmfn/services/render/resource"
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
	parts, err := in.parts()
	if err != nil {
		return nil, err
	}
	texts := make([]bytes.Buffer, len(parts))
	err = parallel.Each(len(parts), func(i int) error {
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
func (in *input) parts() ([]*yaml.Node, error) {
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
		return parts, nil
	}
	config, err := in.ownConfig()
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		list = &yaml.Node{Kind: yaml.MappingNode}
		parts = append(parts, list)
	}
	list.Content = append(list.Content, str("functionConfig", 0), config.YNode())
	return parts, nil
}

func itemsNode(items []*yaml.RNode) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
	for _, r := range items {
		n.Content = append(n.Content, r.YNode())
	}
	return n
}
