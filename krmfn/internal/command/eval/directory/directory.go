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

	"github.com/krmfn/krmfn/services/render/kptfile"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/resource"
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
	// Output is checked against the directory as it is.
	if d.Tree, err = packages.Open(dir); err != nil {
		return nil, err
	}
	files := &source{Source: dir}
	if err := files.list(); err != nil {
		return nil, err
	}
	tree, err := packages.Open(files)
	if err != nil {
		return nil, err
	}
	for _, sub := range files.packages() {
		if err := d.readPackage(tree, files, sub); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(d.Resources, func(a, b *yaml.RNode) int { return walkOrder(resource.Path(a), resource.Path(b)) })
	return d, nil
}

func (d *Directory) readPackage(tree *packages.Tree, files *source, sub string) error {
	files.loading = true
	p, err := tree.Load(sub)
	files.loading = false
	if err == nil {
		err = tree.ReadResources(p)
	}
	if err != nil {
		return err
	}
	d.read = append(d.read, p)
	for _, r := range p.Resources {
		if err := flatten(r, sub); err != nil {
			return fmt.Errorf("%s: %w", path.Join(sub, resource.Path(r)), err)
		}
	}
	d.Resources = append(d.Resources, p.Resources...)
	return nil
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

// stub is a Kptfile that every package can be loaded with, whatever its own is.
const stub = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: any\n"

// source is a directory that is a package, whatever it is, with packages below that can be loaded, whatever their Kptfiles
// are.
type source struct {
	packages.Source
	paths []string
	// loading is true while a Kptfile is read for what it says of its package.
	loading bool
}

// Paths returns the files of the directory, and a Kptfile at its top.
func (s *source) Paths() ([]string, error) { return slices.Clone(s.paths), nil }

// ReadFile returns a file's content. A Kptfile that is not there has none, and so no resources.
func (s *source) ReadFile(p string) ([]byte, error) {
	if path.Base(p) == kptfile.FileName && s.loading {
		return []byte(stub), nil
	}
	content, err := s.Source.ReadFile(p)
	if err != nil && p == kptfile.FileName {
		return nil, nil
	}
	return content, err
}

// list finds the files, without the packages that a package above ignores.
func (s *source) list() error {
	paths, err := s.Source.Paths()
	if err != nil {
		return err
	}
	s.paths = paths
	if !slices.Contains(paths, kptfile.FileName) {
		s.paths = append(s.paths, kptfile.FileName)
	}
	for _, dir := range s.packages() {
		// One that has been left out by now has no say.
		if !slices.Contains(s.paths, path.Join(dir, kptfile.FileName)) {
			continue
		}
		if err := s.leaveOut(dir); err != nil {
			return err
		}
	}
	return nil
}

// packages returns the directories of all packages, each after those above it.
func (s *source) packages() []string {
	dirs := []string{"."}
	for _, p := range s.paths {
		if path.Base(p) == kptfile.FileName && p != kptfile.FileName {
			dirs = append(dirs, path.Dir(p))
		}
	}
	slices.SortFunc(dirs[1:], walkOrder)
	return dirs
}

// leaveOut leaves out the packages directly below a package that its own .krmignore names.
func (s *source) leaveOut(dir string) error {
	ignore, err := packages.ReadIgnore(s.Source, dir)
	if err != nil {
		return err
	}
	all := s.packages()
	for _, sub := range all {
		if sub != dir && owner(all, sub) == dir && ignore.MatchDir(sub) {
			s.paths = slices.DeleteFunc(s.paths, func(p string) bool { return strings.HasPrefix(p, sub+"/") })
		}
	}
	return nil
}

// owner returns the nearest package above another.
func owner(packages []string, dir string) string {
	for dir = path.Dir(dir); !slices.Contains(packages, dir); {
		dir = path.Dir(dir)
	}
	return dir
}
