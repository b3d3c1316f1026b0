// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/parallel"
	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// ReadAll reads all resources of a tree for a function that is evaluated on the whole tree. The root is a package even without
// a Kptfile, and Kptfiles are resources like any other. ReadAll leaves out packages that a parent package ignores, with
// everything below them. The root comes first in the result.
func ReadAll(source Source) (*Tree, []*Package, error) {
	t, err := open(source, true)
	if err != nil {
		return nil, nil, err
	}
	all := t.visible(".")
	for _, p := range all {
		if err := t.ReadResources(p); err != nil {
			return nil, nil, err
		}
	}
	return t, all, nil
}

// visible returns a package and the packages below it that no parent package ignores.
func (t *Tree) visible(dir string) []*Package {
	all := []*Package{t.newPackage(dir)}
	for _, sub := range t.subpackages[dir] {
		if !t.ignored[dir].matchDir(sub) {
			all = append(all, t.visible(sub)...)
		}
	}
	return all
}

func (t *Tree) newPackage(dir string) *Package {
	return &Package{Dir: dir, Location: t.Location(dir), Subpackages: t.subpackages[dir], files: map[string][]byte{}}
}

// Load reads and strictly decodes the Kptfile of the package in a directory of the tree. It reads no resources.
//
// Load returns the errors of package kptfile; for a missing Kptfile, kptfile.ErrMissing.
func (t *Tree) Load(dir string) (*Package, error) {
	p := t.newPackage(path.Clean(dir))
	content, err := t.source.ReadFile(path.Join(p.Dir, kptfile.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		err = kptfile.ErrMissing
	}
	if err != nil {
		return nil, &kptfile.ReadError{Dir: p.Location, Err: err}
	}
	p.kptfile = content
	p.Kptfile, err = kptfile.Parse(p.Location, content)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Validate checks the pipeline of a package's Kptfile and the functionConfig files that it names; see kptfile.Validate.
func (t *Tree) Validate(p *Package) error {
	return kptfile.Validate(p.Kptfile, func(file string) error { return t.checkConfig(p, file) })
}

// ReadResources reads the resources of a package. Its error names the file.
func (t *Tree) ReadResources(p *Package) error {
	files := t.files[p.Dir]
	contents, resources := make([][]byte, len(files)), make([][]*yaml.RNode, len(files))
	err := parallel.Each(len(files), func(i int) (err error) {
		contents[i], resources[i], err = t.readFile(p, files[i])
		return err
	})
	if err != nil {
		return err
	}
	for i, file := range files {
		if len(resources[i]) > 0 {
			p.files[file] = contents[i]
		}
	}
	p.Resources = append(p.Resources, slices.Concat(resources...)...)
	return nil
}

// TakeResources returns and removes the package's resources, so that the package does not keep resources in memory that a
// render has replaced.
func (p *Package) TakeResources() []*yaml.RNode {
	taken := p.Resources
	p.Resources = nil
	return taken
}

// checkConfig checks a functionConfig file for kptfile.Validate.
func (t *Tree) checkConfig(p *Package, file string) error {
	content, err := t.source.ReadFile(path.Join(p.Dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("failed to open functionConfig from path %q: open %s: no such file or directory",
			file, path.Join(p.Location, file))
	}
	if err != nil {
		return fmt.Errorf("failed to open functionConfig from path %q: %w", file, err)
	}
	resources, err := parse(content, file, p.Location)
	switch {
	case err != nil:
		return fmt.Errorf("failed to read functionConfig %q: %w", file, err)
	case len(resources) == 0:
		return fmt.Errorf("functionConfig %q must contain one config, got none", file)
	case len(resources) > 1:
		return fmt.Errorf("functionConfig %q must not contain more than one config, got %d", file, len(resources))
	}
	if err := resource.CheckKRM(resources[0]); err != nil {
		return fmt.Errorf("functionConfig %q: %w", file, err)
	}
	return nil
}

func (t *Tree) readFile(p *Package, file string) ([]byte, []*yaml.RNode, error) {
	content, name := p.kptfile, relative(p.Dir, file)
	if content == nil || name != kptfile.FileName {
		var err error
		if content, err = t.source.ReadFile(file); err != nil {
			return nil, nil, err
		}
	}
	resources, err := parse(content, name, p.Location)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", t.Location(file), err)
	}
	return content, resources, nil
}

// relative returns p, which is below dir, relative to dir.
func relative(dir, p string) string {
	if dir == "." {
		return p
	}
	return p[len(dir)+1:]
}
