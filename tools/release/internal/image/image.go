// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package image says what krmfn's container images are made of, and makes them by way of go-containerregistry. ko, which makes
// images of Go programs, has one program to an image and its own paths; these have several, links, and the paths of Porch.
package image

import (
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is what an image is made of.
type Image struct {
	Name       string  // last element of its repository, and the command that it is for
	title      string  // one line for people
	layers     []files // what changes least comes first
	entrypoint []string
	cmd        []string // arguments where none are given
	ports      []string // as "9445/tcp"
	dir        string   // working directory
}

// Stamp says what an image is made from. The same stamp and files give the same digest.
type Stamp struct {
	// Version is the image's tag.
	Version string
	// Revision is the commit in git. Images do not tell it where it is empty.
	Revision string
	// Created is the time of the commit. The zero value stands for 1970, of which images do not tell.
	Created time.Time
}

// Build makes the image for an architecture.
func (i Image) Build(arch string, stamp Stamp) (_ v1.Image, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("image %s for %s: %w", i.Name, arch, err)
		}
	}()
	layers := make([]mutate.Addendum, len(i.layers))
	for n, f := range i.layers {
		layer, err := f.layer()
		if err != nil {
			return nil, err
		}
		layers[n] = mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "krmfn make images"}}
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, layers...)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created = v1.Time{Time: epoch}
	if !stamp.Created.IsZero() {
		config.Created = v1.Time{Time: stamp.Created.UTC()}
	}
	config.OS, config.Architecture = "linux", arch
	config.Config = i.config(stamp)
	return mutate.ConfigFile(img, config)
}

// config says how a container of the image runs.
func (i Image) config(stamp Stamp) v1.Config {
	ports := make(map[string]struct{}, len(i.ports))
	for _, port := range i.ports {
		ports[port] = struct{}{}
	}
	return v1.Config{
		User:         user,
		Entrypoint:   i.entrypoint,
		Cmd:          i.cmd,
		WorkingDir:   i.dir,
		Env:          []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		ExposedPorts: ports,
		Labels:       i.labels(stamp),
	}
}

// labels are the predefined annotation keys of the OCI image specification.
func (i Image) labels(stamp Stamp) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":       i.Name,
		"org.opencontainers.image.description": i.title,
		"org.opencontainers.image.version":     stamp.Version,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.vendor":      "The krmfn Authors",
		"org.opencontainers.image.url":         "https://github.com/krmfn/krmfn",
		"org.opencontainers.image.source":      "https://github.com/krmfn/krmfn",
	}
	if stamp.Revision != "" {
		labels["org.opencontainers.image.revision"] = stamp.Revision
	}
	if !stamp.Created.IsZero() {
		labels["org.opencontainers.image.created"] = stamp.Created.UTC().Format(time.RFC3339)
	}
	return labels
}

// Programs are the executables of the image: the paths of their files on this machine, by path in the image.
func (i Image) Programs() map[string]string {
	programs := make(map[string]string)
	for _, layer := range i.layers {
		for name, f := range layer {
			if f.source != "" && f.Mode&0o111 != 0 {
				programs["/"+name] = f.source
			}
		}
	}
	return programs
}

// HasAuthorities tells whether the certificates to trust are in the image.
func (i Image) HasAuthorities() bool {
	return slices.ContainsFunc(i.layers, func(layer files) bool {
		_, found := layer[authorities]
		return found
	})
}

// Index joins the images of one name for several architectures.
func Index(images map[string]v1.Image) v1.ImageIndex {
	idx := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range slices.Sorted(maps.Keys(images)) {
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{
			Add:        images[arch],
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return idx
}
