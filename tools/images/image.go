// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// image is what an image is made of.
type image struct {
	name       string  // last element of its repository
	title      string  // one line for people
	layers     []files // what changes least comes first
	entrypoint []string
	ports      []string // as "9445/tcp"
	dir        string   // working directory
}

// build makes the image for an architecture.
func (i image) build(arch, version string) (v1.Image, error) {
	layers := make([]mutate.Addendum, 0, len(i.layers))
	for _, f := range i.layers {
		layer, err := f.layer()
		if err != nil {
			return nil, fmt.Errorf("image %s for %s: %w", i.name, arch, err)
		}
		layers = append(layers, mutate.Addendum{
			Layer:   layer,
			History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "krmfn make images"},
		})
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, layers...)
	if err != nil {
		return nil, fmt.Errorf("image %s for %s: %w", i.name, arch, err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("image %s for %s: %w", i.name, arch, err)
	}
	config = config.DeepCopy()
	config.Created = v1.Time{Time: epoch}
	config.OS, config.Architecture = "linux", arch
	config.Config = i.config(version)
	return mutate.ConfigFile(img, config)
}

// config says how a container of the image runs.
func (i image) config(version string) v1.Config {
	ports := make(map[string]struct{}, len(i.ports))
	for _, port := range i.ports {
		ports[port] = struct{}{}
	}
	return v1.Config{
		User:         user,
		Entrypoint:   i.entrypoint,
		WorkingDir:   i.dir,
		Env:          []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		ExposedPorts: ports,
		Labels:       i.labels(version),
	}
}

// labels are the predefined annotation keys of the OCI image specification.
func (i image) labels(version string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       i.name,
		"org.opencontainers.image.description": i.title,
		"org.opencontainers.image.version":     version,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.vendor":      "The krmfn Authors",
		"org.opencontainers.image.url":         "https://github.com/krmfn/krmfn",
		"org.opencontainers.image.source":      "https://github.com/krmfn/krmfn",
	}
}

// index joins the images of one name for several architectures.
func index(images map[string]v1.Image) v1.ImageIndex {
	idx := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range slices.Sorted(maps.Keys(images)) {
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{
			Add:        images[arch],
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return idx
}
