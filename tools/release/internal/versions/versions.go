// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package versions reads versions.yaml, which contains the version of everything that is released.
package versions

import (
	"bytes"
	"errors"
	"fmt"
	goversion "go/version"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/semver"
)

// File is the name of the file in the root of the repository.
const File = "versions.yaml"

// Versions holds the versions of the chart, of each image and of each public Go module, such as "v1.2.3" or "v1.2.3-rc.1", and of Go, such
// as "1.26.8". The keys of modules are directories. The module ".", with services and internal, has the version of the chart.
type Versions struct {
	Chart   string            `yaml:"chart"`
	Images  map[string]string `yaml:"images"`
	Modules map[string]string `yaml:"modules"`
	Go      string            `yaml:"go"`
	// Previous is the tag or commit that end-to-end tests upgrade from. Releases do not use it.
	Previous string `yaml:"previous"`
}

// ReadRelease reads the file of a repository, and returns what a tag releases.
func ReadRelease(root, tag string) (Versions, Release, error) {
	v, err := Read(root)
	if err != nil {
		return Versions{}, Release{}, err
	}
	r, err := v.Release(tag)
	return v, r, err
}

// Read reads the file of a repository. Unknown, missing and repeated keys are errors, and so are incomplete versions.
func Read(root string) (Versions, error) {
	path := filepath.Join(root, File)
	data, err := os.ReadFile(path)
	if err != nil {
		return Versions{}, err
	}
	v, err := parse(data)
	if err != nil {
		return Versions{}, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

func parse(data []byte) (Versions, error) {
	var v Versions
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&v); err != nil {
		return Versions{}, err
	}
	if err := decoder.Decode(new(Versions)); !errors.Is(err, io.EOF) {
		return Versions{}, errors.New("more than one document: remove all but the first")
	}
	if err := check("chart", v.Chart); err != nil {
		return Versions{}, err
	}
	if len(v.Images) == 0 {
		return Versions{}, errors.New("images is empty: add at least one")
	}
	for _, name := range v.Names() {
		if err := check("images: "+name, v.Images[name]); err != nil {
			return Versions{}, err
		}
	}
	// The module at the root and the chart have the same tag.
	if root, found := v.Modules["."]; found && root != v.Chart {
		return Versions{}, fmt.Errorf("modules: .: %s, but the chart has %s: give both the same version", root, v.Chart)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Modules)) {
		if err := check("modules: "+name, v.Modules[name]); err != nil {
			return Versions{}, err
		}
		// One git tag releases both.
		if image, found := v.Images[name]; found && image != v.Modules[name] {
			return Versions{}, fmt.Errorf("modules: %s: %s, but the image of that name has %s: give both the same version", name, v.Modules[name], image)
		}
	}
	if !goversion.IsValid("go"+v.Go) || strings.Count(v.Go, ".") != 2 {
		return Versions{}, fmt.Errorf("go: %q is not a release of Go: write it like 1.26.8", v.Go)
	}
	return v, nil
}

// check returns an error unless a version has three numbers and no build metadata. Tags of images cannot contain a plus sign.
func check(key, version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("%s: %q is not a version: write it like v1.2.3 or v1.2.3-rc.1", key, version)
	}
	return nil
}

// Names returns the names of the images, sorted.
func (v Versions) Names() []string { return slices.Sorted(maps.Keys(v.Images)) }

// Differing returns the images whose version differs from the chart's, with their versions.
func (v Versions) Differing() map[string]string {
	differing := maps.Clone(v.Images)
	maps.DeleteFunc(differing, func(_, version string) bool { return version == v.Chart })
	return differing
}

// Release is what one git tag releases.
type Release struct {
	Tag string
	// Chart reports whether the release contains the chart.
	Chart bool
	// Images and Modules are sorted.
	Images, Modules []string
}

// Release returns what a tag releases: vX.Y.Z releases the chart and all images and Go modules of its version, and NAME/vX.Y.Z releases the
// image and the Go module of that name. The empty tag means the chart's version. A tag with another version than the file is an error.
func (v Versions) Release(tag string) (Release, error) {
	if tag == "" {
		tag = v.Chart
	}
	name, version, single := strings.Cut(tag, "/")
	if !single {
		if tag != v.Chart {
			return Release{}, fmt.Errorf("tag %s: %s has %s for the chart: change it before you tag", tag, File, v.Chart)
		}
		return Release{Tag: tag, Chart: true, Images: named(v.Images, tag), Modules: named(v.Modules, tag)}, nil
	}
	// An image and a module of one name have one version.
	all := maps.Clone(v.Images)
	maps.Copy(all, v.Modules)
	switch has := all[name]; has {
	case version:
	case "":
		names := strings.Join(slices.Sorted(maps.Keys(all)), ", ")
		return Release{}, fmt.Errorf("tag %s: unknown image or Go module %s: use one of %s", tag, name, names)
	default:
		return Release{}, fmt.Errorf("tag %s: %s has %s for %s: change it before you tag", tag, File, has, name)
	}
	r := Release{Tag: tag}
	if _, found := v.Images[name]; found {
		r.Images = []string{name}
	}
	if _, found := v.Modules[name]; found {
		r.Modules = []string{name}
	}
	return r, nil
}

// named returns the sorted keys that have the given version.
func named(all map[string]string, version string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == version {
			names = append(names, name)
		}
	}
	return names
}
