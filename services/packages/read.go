// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/kptfile"
	"github.com/krmfn/krmfn/services/resource"
)

// Read reads the package in a directory of the tree, "." for its root, without its sub-packages. The Kptfile is decoded
// strictly and its pipeline is checked before any other file is read.
//
// Errors are those of package kptfile, where a missing Kptfile is kptfile.ErrMissing, and otherwise name the file.
func (t *Tree) Read(dir string) (*Package, error) {
	dir = path.Clean(dir)
	p := &Package{Dir: dir, Location: t.Location(dir), Subpackages: t.subpackages(dir), files: map[string][]byte{}}
	var err error
	if p.Kptfile, err = t.readKptfile(p); err != nil {
		return nil, err
	}
	for _, file := range t.files[dir] {
		resources, err := t.readFile(p, file)
		if err != nil {
			return nil, err
		}
		p.Resources = append(p.Resources, resources...)
	}
	return p, nil
}

func (t *Tree) readKptfile(p *Package) (*kptfilev1.KptFile, error) {
	content, err := t.source.ReadFile(path.Join(p.Dir, kptfile.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		err = kptfile.ErrMissing
	}
	if err != nil {
		return nil, &kptfile.ReadError{Dir: p.Location, Err: err}
	}
	kf, err := kptfile.Parse(p.Location, content)
	if err != nil {
		return nil, err
	}
	return kf, kptfile.Validate(kf, func(file string) error { return t.checkConfig(p, file) })
}

// checkConfig checks a functionConfig file as the Kptfile's validation wants it.
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

func (t *Tree) readFile(p *Package, file string) ([]*yaml.RNode, error) {
	content, err := t.source.ReadFile(file)
	if err != nil {
		return nil, err
	}
	resources, err := parse(content, relative(p.Dir, file), p.Location)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Location(file), err)
	}
	if len(resources) > 0 {
		p.files[file] = content
	}
	return resources, nil
}

// relative returns a path below dir, relative to it.
func relative(dir, p string) string {
	if dir == "." {
		return p
	}
	return p[len(dir)+1:]
}
