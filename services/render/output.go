// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/parallel"
	"github.com/krmfn/krmfn/services/render/resource"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// accept returns the state with a function's output: comments and order as they were, every resource with a place, nothing
// outside of the package, nothing twice.
func (p *pipeline) accept(in *input, output []*yaml.RNode, validator bool) ([]*yaml.RNode, error) {
	if output == nil && len(in.selected) > 0 && !validator {
		return nil, errors.New("the output has no items, which would delete all resources: return the items that are to stay")
	}
	// Each resource is gone through once: together they are more than the processor's caches hold. What comes of a place comes
	// before what is no resource.
	noKRM, places := make([]error, len(output)), make([]place, len(output))
	err := parallel.Each(len(output), func(i int) error {
		err := p.place(in, output[i])
		if err == nil {
			noKRM[i] = checkKRM(output[i])
		}
		places[i] = placeOf(output[i])
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
	if !validator && !p.hasKptfile(state) && p.hasKptfile(p.resources) {
		return nil, lostKptfile(state)
	}
	return state, nil
}

// lostKptfile says how the package's Kptfile has gone.
func lostKptfile(state []*yaml.RNode) error {
	for _, r := range state {
		if resource.Kind(r) == kptfilev1.KptFileGVK().Kind && path.Base(resource.Path(r)) != kptfilev1.KptFileName {
			return fmt.Errorf("the output would move the package's Kptfile to %s: keep the annotations of path that items have", resource.Path(r))
		}
	}
	return errors.New("the output would delete the package's Kptfile: return all items, or exclude kind Kptfile from the function")
}

// place restores what a resource has lost on its way, and gives new ones a place.
func (p *pipeline) place(in *input, r *yaml.RNode) error {
	var at [len(placeKeys)]string
	resource.ReadAnnotations(r, placeKeys[:], at[:])
	if origin := in.originOf(at[5:]...); origin != nil && at[0] != "" && at[1] != "" && at[1] == at[2] && at[3] == at[4] {
		resource.Restore(origin, r)
		return nil
	}
	var before struct{ path, index string }
	if origin := in.origin(r); origin != nil {
		before.path, before.index = resource.Path(origin), resource.Index(origin)
		resource.Restore(origin, r)
	}
	if err := reconcilePlace(r, before.path, before.index); err != nil {
		return err
	}
	if err := resource.SetDefaultPath(r); err != nil {
		return err
	}
	if resource.Annotation(r, resource.PackageAnnotation) == "" {
		return resource.SetAnnotation(r, resource.PackageAnnotation, p.node.location)
	}
	return nil
}

// placeKeys are the annotations by which most resources turn out to have their place: that of the package, both forms of path
// and index, and the ids.
var placeKeys = [...]string{
	resource.PackageAnnotation, resource.PathAnnotation, resource.FormerPathAnnotation, resource.IndexAnnotation,
	resource.FormerIndexAnnotation, resource.IDAnnotation, resource.FormerIDAnnotation,
}

// reconcilePlace makes path and index agree in both of their forms after a function may have changed either. path and index
// are the values before; empty for resources that are new. It is an error when both forms changed, each to something else.
func reconcilePlace(r *yaml.RNode, path, index string) error {
	if err := reconcile(r, "path", resource.PathAnnotation, resource.FormerPathAnnotation, path); err != nil {
		return err
	}
	return reconcile(r, "index", resource.IndexAnnotation, resource.FormerIndexAnnotation, index)
}

func reconcile(r *yaml.RNode, word, key, formerKey, before string) error {
	value, former := resource.Annotation(r, key), resource.Annotation(r, formerKey)
	switch {
	case value == former:
		return nil
	case value == "", value == before && former != "":
		return resource.SetAnnotation(r, key, former)
	case former == "", former == before:
		return resource.SetAnnotation(r, formerKey, value)
	}
	return fmt.Errorf("resource input to function has mismatched legacy and internal %s annotations", word)
}

// checkAllKRM is resource.CheckKRM for many; the error names the path of the first that is none.
func checkAllKRM(resources []*yaml.RNode) error {
	return parallel.Each(len(resources), func(i int) error { return checkKRM(resources[i]) })
}

func checkKRM(r *yaml.RNode) error {
	if err := resource.CheckKRM(r); err != nil {
		return fmt.Errorf("%s: %w", resource.Path(r), err)
	}
	return nil
}

type place struct{ location, path, index string }

func placeOf(r *yaml.RNode) place {
	return place{resource.Annotation(r, resource.PackageAnnotation), resource.Path(r), resource.Index(r)}
}

// checkPlaces makes sure that resources are inside of their packages and that no two have the same place.
func checkPlaces(places []place) error {
	taken := make(map[place]bool, len(places))
	for _, at := range places {
		written := at.path
		at.path = path.Clean(at.path)
		if at.path == ".." || strings.HasPrefix(at.path, "../") {
			return fmt.Errorf("function must not modify resources outside of package: resource has path %s", written)
		}
		if taken[at] {
			return fmt.Errorf("resource at path %q and index %q already exists", written, at.index)
		}
		taken[at] = true
	}
	return nil
}

// decode reads the items of a ResourceList; nil where it has none at all. Evaluators have checked that it is one.
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
	if field == nil || field.Kind != yaml.SequenceNode {
		return nil, nil
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
