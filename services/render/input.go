// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
	"github.com/krmfn/krmfn/services/render/yamlnode"
	"github.com/krmfn/krmfn/services/render/yamlprint"
)

type input struct {
	// all are the resources of the package, selected those of them that the function gets.
	all, selected []*yaml.RNode
	// config is the functionConfig; nil for none.
	config *yaml.RNode

	withSelectionIDs, withMigrationIDs bool
	// numbers are the places of those selected among all.
	numbers []int
	forms   forms
	// parked are those selected, kept those that are not parked.
	parked parked
	kept   func(*yaml.RNode) bool
	// unprinted says that the output was not printed and parsed.
	unprinted bool
	// hadKptfile says that the package's Kptfile is among all.
	hadKptfile bool
}

func newInput(all, selected []*yaml.RNode, config *yaml.RNode) (in *input, err error) {
	in = &input{all: all, selected: selected, config: config, numbers: make([]int, 0, len(selected)), parked: newParked(selected)}
	for number, r := range all {
		if next := len(in.numbers); next < len(selected) && selected[next] == r {
			in.numbers = append(in.numbers, number)
		}
	}
	in.forms, err = completeForms(selected)
	return in, err
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
		yamlnode.String("apiVersion", 0), yamlnode.String(kio.ResourceListAPIVersion, 0), yamlnode.String("kind", 0), yamlnode.String(kio.ResourceListKind, 0), yamlnode.String("items", 0), itemsNode(in.selected),
	}}
	if in.config != nil {
		config, err := in.ownConfig()
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, yamlnode.String("functionConfig", 0), config.YNode())
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

// ids returns the annotations by which the output's resource for one of those selected is known again.
func (in *input) ids(i int) []resource.KeyValue {
	var ids []resource.KeyValue
	if in.withSelectionIDs {
		ids = append(ids, resource.KeyValue{Key: resource.SelectionIDAnnotation, Value: strconv.Itoa(in.numbers[i])})
	}
	if in.withMigrationIDs {
		ids = append(ids, resource.KeyValue{Key: resource.MigrationIDAnnotation, Value: strconv.Itoa(i)})
	}
	id := strconv.Itoa(i + 1)
	return append(ids, resource.KeyValue{Key: resource.IDAnnotation, Value: id}, resource.KeyValue{Key: resource.FormerIDAnnotation, Value: id})
}

// ownConfig returns a copy of the functionConfig. Where it is a resource of the package, it has the ids of that.
func (in *input) ownConfig() (*yaml.RNode, error) {
	own := yaml.NewRNode(yamlnode.Copy(in.config.YNode()))
	if i := slices.Index(in.selected, in.config); i >= 0 {
		return own, resource.SetAnnotations(own, in.ids(i)...)
	}
	if number := slices.Index(in.all, in.config); number >= 0 && in.withSelectionIDs {
		return own, resource.SetAnnotation(own, resource.SelectionIDAnnotation, strconv.Itoa(number))
	}
	return own, nil
}

func clearIDs(r *yaml.RNode) {
	resource.ClearAnnotations(r, resource.IDAnnotation, resource.FormerIDAnnotation, resource.MigrationIDAnnotation,
		resource.SelectionIDAnnotation)
}

// origin returns which of the resources that the function got an output's resource was before, by the ids that it still has; -1
// for a new one.
func (in *input) origin(r *yaml.RNode) int {
	return in.originOf(resource.Annotation(r, resource.IDAnnotation), resource.Annotation(r, resource.FormerIDAnnotation))
}

// originOf returns which resource has the first of several ids that is one; -1 for none.
func (in *input) originOf(ids ...string) int {
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil && n > 0 && n <= len(in.selected) {
			return n - 1
		}
	}
	return -1
}
