// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package versions reads versions.yaml, which says of everything that is released which version it has.
package versions

import (
	"bytes"
	"errors"
	"fmt"
	goversion "go/version"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/semver"
)

// File is the name of the file, in the root of the repository.
const File = "versions.yaml"

// Versions are those of the chart and of each image, "v1.2.3" or "v1.2.3-rc.1", and of Go, "1.26.8".
type Versions struct {
	Chart  string            `yaml:"chart"`
	Images map[string]string `yaml:"images"`
	Go     string            `yaml:"go"`
}

// Read reads a file. Unknown, missing and repeated keys are errors, and so is anything that is no complete version.
func Read(path string) (Versions, error) {
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
		return Versions{}, errors.New("more than one document: keep the first")
	}
	if err := check("chart", v.Chart); err != nil {
		return Versions{}, err
	}
	if len(v.Images) == 0 {
		return Versions{}, errors.New("images: empty: name at least one")
	}
	for _, name := range v.Names() {
		if err := check("images: "+name, v.Images[name]); err != nil {
			return Versions{}, err
		}
	}
	if !goversion.IsValid("go"+v.Go) || strings.Count(v.Go, ".") != 2 {
		return Versions{}, fmt.Errorf("go: %q is no release of Go: write it as 1.26.8", v.Go)
	}
	return v, nil
}

// check refuses what is not a version of three numbers. Build metadata is refused, as no tag of an image can have a plus.
func check(key, version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("%s: %q is no version: write it as v1.2.3 or v1.2.3-rc.1", key, version)
	}
	return nil
}

// Names lists the images, sorted.
func (v Versions) Names() []string { return slices.Sorted(maps.Keys(v.Images)) }

// Differing are the images whose version is not the chart's, with their versions.
func (v Versions) Differing() map[string]string {
	differing := maps.Clone(v.Images)
	maps.DeleteFunc(differing, func(_, version string) bool { return version == v.Chart })
	return differing
}
