// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
)

// place restores comments, order and annotations that r has lost in the function, sets a path if r is new, and returns r's
// place.
func (p *pipeline) place(in *input, r *yaml.RNode) (place, error) {
	var at [len(placeKeys)]string
	resource.ReadAnnotations(r, placeKeys[:], at[:])
	if i := in.originOf(at[5:]...); i >= 0 && at[0] != "" && at[1] != "" && at[1] == at[2] && at[3] == at[4] {
		in.parked.restoreFormatting(i, r)
		return place{at[0], at[1], at[3]}, nil
	}
	var before struct{ path, index string }
	if i := in.origin(r); i >= 0 {
		origin := in.parked.before(i)
		before.path, before.index = resource.Path(origin), resource.Index(origin)
		resource.Restore(origin, r)
	}
	err := reconcilePlace(r, before.path, before.index)
	if err == nil {
		err = resource.SetDefaultPath(r)
	}
	if err == nil && p.node.location != "" && resource.Annotation(r, resource.PackageAnnotation) == "" {
		err = resource.SetAnnotation(r, resource.PackageAnnotation, p.node.location)
	}
	return placeOf(r), err
}

// placeKeys are the annotations that are read first. For most resources they suffice to tell that the place is unchanged.
var placeKeys = [...]string{
	resource.PackageAnnotation, resource.PathAnnotation, resource.FormerPathAnnotation, resource.IndexAnnotation,
	resource.FormerIndexAnnotation, resource.IDAnnotation, resource.FormerIDAnnotation,
}

// reconcilePlace makes the two keys of the path and index annotations agree after a function may have changed either. path and
// index are the values before the function; empty for new resources. It is an error if both keys have new and different values.
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

// forms records which keys of the path and index annotations the resources have that a function gets. The function sees both
// keys. The output, including new resources, gets only the keys that the input had.
type forms struct{ internal, former bool }

// completeForms returns the forms of resources, and sets the missing key on resources that have only one.
func completeForms(resources []*yaml.RNode) (forms, error) {
	if len(resources) == 0 {
		return forms{true, true}, nil
	}
	var f forms
	for _, r := range resources {
		f.internal = f.internal || resource.Annotation(r, resource.PathAnnotation)+resource.Annotation(r, resource.IndexAnnotation) != ""
		f.former = f.former || resource.Annotation(r, resource.FormerPathAnnotation)+resource.Annotation(r, resource.FormerIndexAnnotation) != ""
		// Resources of packages always have both.
		if f.internal && f.former {
			return f, nil
		}
	}
	for _, r := range resources {
		if err := reconcilePlace(r, "", ""); err != nil {
			return f, err
		}
	}
	return f, nil
}

// clear removes the keys that the input did not have.
func (f forms) clear(resources []*yaml.RNode) {
	var keys []string
	if !f.internal {
		keys = append(keys, resource.PathAnnotation, resource.IndexAnnotation)
	}
	if !f.former {
		keys = append(keys, resource.FormerPathAnnotation, resource.FormerIndexAnnotation)
	}
	if len(keys) == 0 {
		return
	}
	for _, r := range resources {
		resource.ClearAnnotations(r, keys...)
	}
}

type place struct{ location, path, index string }

func placeOf(r *yaml.RNode) place {
	return place{resource.Annotation(r, resource.PackageAnnotation), resource.Path(r), resource.Index(r)}
}

// checkPlaces returns an error if a resource is outside its package or two resources have the same place. Resources without a
// path are ignored.
func checkPlaces(places []place) error {
	taken := make(map[place]bool, len(places))
	for _, at := range places {
		written := at.path
		if written == "" {
			continue
		}
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
