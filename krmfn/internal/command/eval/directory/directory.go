// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package directory reads and writes a directory as one flat set of resources, for a function that is evaluated over all of
// it: packages in the directory do not matter then, and Kptfiles are resources like others.
package directory

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render/packages"
)

// Directory is a directory that has been read.
type Directory struct {
	// Resources are all resources, in the order of their files, with paths relative to the directory.
	Resources []*yaml.RNode
	// Tree is the directory's.
	Tree *packages.Tree

	read []*packages.Package
}

// Read reads all resources of a directory. Those that .krmignore files name are left out: each holds for the package that it
// is in, and one that names a directory with a package leaves out all of that, too.
func Read(dir packages.Source) (*Directory, error) {
	d := &Directory{}
	var err error
	if d.Tree, d.read, err = packages.ReadAll(dir); err != nil {
		return nil, err
	}
	for _, p := range d.read {
		for _, r := range p.Resources {
			if err := flatten(r, p.Dir); err != nil {
				return nil, fmt.Errorf("%s: %w", path.Join(p.Dir, resource.Path(r)), err)
			}
		}
		d.Resources = append(d.Resources, p.Resources...)
	}
	slices.SortStableFunc(d.Resources, func(a, b *yaml.RNode) int { return walkOrder(resource.Path(a), resource.Path(b)) })
	return d, nil
}

// flatten makes the path of a resource of a package below relative to the directory.
func flatten(r *yaml.RNode, sub string) error {
	resource.ClearAnnotations(r, resource.PackageAnnotation)
	file := path.Join(sub, resource.Path(r))
	for _, key := range []string{resource.FormerPathAnnotation, resource.PathAnnotation} {
		if err := resource.SetAnnotation(r, key, file); err != nil {
			return err
		}
	}
	return nil
}

// Without takes the resources of a file out and returns them.
func (d *Directory) Without(file string) (taken []*yaml.RNode) {
	d.Resources = slices.DeleteFunc(d.Resources, func(r *yaml.RNode) bool {
		out := resource.Path(r) == file
		if out {
			taken = append(taken, r)
		}
		return out
	})
	return taken
}

// Output returns the files of resources, and what of them is new to the directory.
func (d *Directory) Output(resources []*yaml.RNode) (packages.Output, error) {
	for _, r := range resources {
		if p := resource.Path(r); path.IsAbs(p) {
			return packages.Output{}, fmt.Errorf("package paths may not be absolute paths: %s", p)
		}
	}
	return d.Tree.Output(resources, d.read...)
}

// walkOrder orders paths as a walk over the directory meets them: by name, with the files of a directory in its place.
func walkOrder(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}
