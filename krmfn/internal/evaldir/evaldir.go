// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package evaldir makes a package out of any directory, with a pipeline of one function, so that one function can be
// evaluated over the directory the way a package is rendered. Kptfiles in the directory are left out: they say how the
// directory is rendered, and are no resources for an evaluation to change.
package evaldir

import (
	"fmt"
	"path"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/packages"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/resource"
)

// configFile is where the functionConfig stands in the package. The directory has no file of that name.
const configFile = ".krmfn/function-config.yaml"

// Source is a directory as a package with a pipeline of one function.
type Source struct {
	packages.Source
	added map[string][]byte
}

// New returns the package. The function gets all resources but Kptfiles and those of the files to be left out, whose paths
// are in the directory. config is the functionConfig, one YAML document.
func New(dir packages.Source, image, tag string, config []byte, leaveOut ...string) (*Source, error) {
	function := kptfilev1.Function{Image: image, Tag: tag, ConfigPath: configFile}
	for _, file := range append(leaveOut, configFile, kptfilev1.KptFileName) {
		function.Exclusions = append(function.Exclusions, kptfilev1.Selector{
			Annotations: map[string]string{resource.PathAnnotation: file},
		})
	}
	apiVersion, kind := kptfilev1.KptFileGVK().ToAPIVersionAndKind()
	kf := kptfilev1.KptFile{
		ResourceMeta: yaml.ResourceMeta{
			TypeMeta:   yaml.TypeMeta{APIVersion: apiVersion, Kind: kind},
			ObjectMeta: yaml.ObjectMeta{NameMeta: yaml.NameMeta{Name: path.Base(dir.Location())}},
		},
		Pipeline: &kptfilev1.Pipeline{Mutators: []kptfilev1.Function{function}},
	}
	content, err := yaml.Marshal(kf)
	if err != nil {
		return nil, fmt.Errorf("make a pipeline of function %q: %w", image, err)
	}
	return &Source{Source: dir, added: map[string][]byte{kptfilev1.KptFileName: content, configFile: config}}, nil
}

// Paths returns the files of the directory without its Kptfiles, and the files that make it a package.
func (s *Source) Paths() ([]string, error) {
	all, err := s.Source.Paths()
	if err != nil {
		return nil, err
	}
	paths := make([]string, 0, len(all)+len(s.added))
	for _, p := range all {
		if path.Base(p) != kptfilev1.KptFileName && s.added[p] == nil {
			paths = append(paths, p)
		}
	}
	for p := range s.added {
		paths = append(paths, p)
	}
	return paths, nil
}

// ReadFile returns a file's content.
func (s *Source) ReadFile(p string) ([]byte, error) {
	if content, ok := s.added[p]; ok {
		return content, nil
	}
	return s.Source.ReadFile(p)
}

// Clean removes from a result what the directory does not have.
func (s *Source) Clean(r *render.Result) {
	ours := func(p string) bool { return s.added[p] != nil }
	r.Resources = without(r.Resources, func(n *yaml.RNode) bool { return ours(resource.Path(n)) })
	r.Output.Files = without(r.Output.Files, func(f packages.File) bool { return ours(f.Path) })
	r.Output.Changes = without(r.Output.Changes, func(c packages.Change) bool { return ours(c.Path) })
}

// without returns the elements of a list that are not left out; the list itself stays as it is.
func without[T any](list []T, leaveOut func(T) bool) []T {
	kept := make([]T, 0, len(list))
	for _, e := range list {
		if !leaveOut(e) {
			kept = append(kept, e)
		}
	}
	return kept
}
