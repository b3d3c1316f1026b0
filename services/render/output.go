// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/parallel"
	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
)

// accept turns a function's output into the new state. It restores comments and the order of fields, assigns paths, and rejects
// resources outside the package and duplicate paths. It returns errNeedsPrinting if printing would change an output that has
// not been printed.
func (p *pipeline) accept(in *input, output []*yaml.RNode, validator bool) ([]*yaml.RNode, error) {
	if output == nil && len(in.selected) > 0 && !validator && !p.options.AllowDeletion {
		return nil, &DeletionError{"the output has no items, which would delete all resources that the function got: return the resources to keep, or an empty list of items"}
	}
	// Process each resource completely before the next one, because all resources together exceed the processor's caches.
	// Errors about paths take precedence over errors about resources that are not KRM.
	noKRM, places := make([]error, len(output)), make([]place, len(output))
	err := parallel.Each(len(output), func(i int) error {
		if in.unprinted && complicated(output[i]) {
			return errNeedsPrinting
		}
		var err error
		if places[i], err = p.place(in, output[i]); err == nil {
			noKRM[i] = checkKRM(output[i])
		}
		if !in.withSelectionIDs {
			clearIDs(output[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(noKRM...); err != nil {
		return nil, fmt.Errorf("output resource list must contain only KRM resources: %w", err)
	}
	state := output
	if in.withSelectionIDs {
		state = in.merge(output)
		for _, r := range output {
			clearIDs(r)
		}
		places = places[:0]
		for _, r := range state {
			places = append(places, placeOf(r))
		}
	}
	if err := checkPlaces(places); err != nil {
		return nil, err
	}
	in.forms.clear(output)
	if !validator && !p.options.AllowDeletion && len(state) > 0 && !p.hasKptfile(state) && in.hadKptfile {
		return nil, &DeletionError{lostKptfile(state)}
	}
	return state, nil
}

// lostKptfile describes how the output lost the package's Kptfile.
func lostKptfile(state []*yaml.RNode) string {
	for _, r := range state {
		if resource.Kind(r) == kptfilev1.KptFileGVK().Kind && path.Base(resource.Path(r)) != kptfilev1.KptFileName {
			return fmt.Sprintf("the output would move the package's Kptfile to %s: keep the path annotations of the items", resource.Path(r))
		}
	}
	return "the output would delete the package's Kptfile: return all items, or exclude kind Kptfile from the function"
}

// checkAllKRM applies resource.CheckKRM to all resources. The error names the path of the first invalid one.
func checkAllKRM(resources []*yaml.RNode) error {
	return parallel.Each(len(resources), func(i int) error { return checkKRM(resources[i]) })
}

func checkKRM(r *yaml.RNode) error {
	if err := resource.CheckKRM(r); err != nil {
		return fmt.Errorf("%s: %w", resource.Path(r), err)
	}
	return nil
}

// decode returns the items of a ResourceList. The result is nil if the list has neither items nor a functionConfig, so that
// deleting everything may be an accident. Functions built on the SDK print an empty list by omitting items but keeping the
// functionConfig; others print an empty items field. Evaluators have already checked that the output is a ResourceList.
func decode(list []byte) ([]*yaml.RNode, error) {
	if bytes.Contains(list, []byte("\r\n")) {
		list = bytes.ReplaceAll(list, []byte("\r\n"), []byte("\n"))
	}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(list)).Decode(&doc); err != nil {
		return nil, fmt.Errorf("the output is not YAML: %w", err)
	}
	root := yaml.NewRNode(&doc)
	if resource.Kind(root) != "ResourceList" {
		return nil, fmt.Errorf("the output is of kind %.100q, want a ResourceList", resource.Kind(root))
	}
	if !yamlnode.Finite(&doc) {
		return nil, errors.New("the output has an anchor that contains itself")
	}
	field := yamlnode.Lookup(&doc, "items")
	switch {
	case field == nil && yamlnode.Lookup(&doc, "functionConfig") == nil:
		return nil, nil
	case field == nil, field.Kind != yaml.SequenceNode:
		return []*yaml.RNode{}, nil
	}
	items := make([]*yaml.RNode, 0, len(field.Content))
	for i, item := range field.Content {
		own, err := yamlnode.Detach(item)
		if err != nil {
			return nil, fmt.Errorf("item %d of the output: %w", i, err)
		}
		if own.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("item %d of the output is not a mapping", i)
		}
		items = append(items, yaml.NewRNode(own))
	}
	return items, nil
}
