// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/internal/yamlprint"
)

type input struct {
	// all are the resources of the package; selected are those that the function gets.
	all, selected []*yaml.RNode
	// config is the functionConfig, or nil.
	config *yaml.RNode

	withSelectionIDs, withMigrationIDs bool
	// indexes are the positions of the selected resources in all.
	indexes []int
	forms   forms
	// parked holds the selected resources while the function runs. kept reports whether a resource must not be parked.
	parked parked
	kept   func(*yaml.RNode) bool
	// unprinted is set if the output has not been printed and parsed.
	unprinted bool
	// hadKptfile is set if all contains the package's Kptfile.
	hadKptfile bool
}

func newInput(all, selected []*yaml.RNode, config *yaml.RNode) (in *input, err error) {
	in = &input{all: all, selected: selected, config: config, indexes: make([]int, 0, len(selected)), parked: newParked(selected)}
	for number, r := range all {
		if next := len(in.indexes); next < len(selected) && selected[next] == r {
			in.indexes = append(in.indexes, number)
		}
	}
	in.forms, err = completeForms(selected)
	return in, err
}

// encode prints the ResourceList. In the output, resources have id annotations that match the function's output with its input.
// encode removes these annotations from the resources before it returns.
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

// ids returns the id annotations of a selected resource.
func (in *input) ids(i int) []resource.KeyValue {
	var ids []resource.KeyValue
	if in.withSelectionIDs {
		ids = append(ids, resource.KeyValue{Key: resource.SelectionIDAnnotation, Value: strconv.Itoa(in.indexes[i])})
	}
	if in.withMigrationIDs {
		ids = append(ids, resource.KeyValue{Key: resource.MigrationIDAnnotation, Value: strconv.Itoa(i)})
	}
	id := strconv.Itoa(i + 1)
	return append(ids, resource.KeyValue{Key: resource.IDAnnotation, Value: id}, resource.KeyValue{Key: resource.FormerIDAnnotation, Value: id})
}

// ownConfig returns a copy of the functionConfig. If it is a resource of the package, the copy has that resource's id
// annotations.
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

// origin returns the index of the selected resource that an output resource came from, judging by its id annotations; -1 for a
// new resource.
func (in *input) origin(r *yaml.RNode) int {
	return in.originOf(resource.Annotation(r, resource.IDAnnotation), resource.Annotation(r, resource.FormerIDAnnotation))
}

// originOf returns the index for the first valid id; -1 if none is valid.
func (in *input) originOf(ids ...string) int {
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil && n > 0 && n <= len(in.selected) {
			return n - 1
		}
	}
	return -1
}
