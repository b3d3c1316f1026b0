// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
)

// place restores what a resource has lost on its way, gives new ones a place, and returns it.
func (p *pipeline) place(in *input, r *yaml.RNode) (place, error) {
	var at [len(placeKeys)]string
	resource.ReadAnnotations(r, placeKeys[:], at[:])
	if i := in.originOf(at[5:]...); i >= 0 && at[0] != "" && at[1] != "" && at[1] == at[2] && at[3] == at[4] {
		in.parked.bringBack(i, r)
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

// forms are the forms of the annotations of path and index that the resources have which a function gets. It sees both, and
// what it returns has the same as before, new resources too: neither, where none of what it got had any.
type forms struct{ internal, former bool }

// completeForms returns the forms of resources, and gives those that have one form the other.
func completeForms(resources []*yaml.RNode) (forms, error) {
	if len(resources) == 0 {
		return forms{true, true}, nil
	}
	var f forms
	for _, r := range resources {
		f.internal = f.internal || resource.Annotation(r, resource.PathAnnotation)+resource.Annotation(r, resource.IndexAnnotation) != ""
		f.former = f.former || resource.Annotation(r, resource.FormerPathAnnotation)+resource.Annotation(r, resource.FormerIndexAnnotation) != ""
		// All resources of packages have both.
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

// clear removes the forms that were not there before.
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

// checkPlaces makes sure that resources are inside of their packages and that no two have the same place. Without a path they
// have none.
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
