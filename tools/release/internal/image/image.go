// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package image defines the contents of krmfn's container images, builds them, and writes them as OCI image layouts. ko builds images with
// one Go program at a path of its own; these images have several programs, links, and the paths of Porch's images.
package image

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/internal/images/ociimage"
)

// Image defines the contents of an image.
type Image struct {
	Name       string           // last element of the repository, and the name of the main program
	title      string           // description in the image's labels
	layers     []ociimage.Files // layers that change rarely come first
	entrypoint []string
	cmd        []string // default arguments
	ports      []string // such as "9445/tcp"
	dir        string   // working directory
}

// Stamp identifies the source of an image. Equal stamps and files give equal digests.
type Stamp struct {
	// Version is the tag of the image.
	Version string
	// Revision is the commit in git. If it is empty, the image has no label for it.
	Revision string
	// Created is the time of the commit. The zero value means 1970, without a label.
	Created time.Time
}

// Build builds the image for an architecture.
func (i Image) Build(arch string, stamp Stamp) (_ v1.Image, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("image %s for %s: %w; make images builds the commands first", i.Name, arch, err)
		}
	}()
	layers := make([]v1.Layer, len(i.layers))
	for n, files := range i.layers {
		if layers[n], err = ociimage.Layer(files); err != nil {
			return nil, err
		}
	}
	return ociimage.Image{
		Platform: v1.Platform{OS: "linux", Architecture: arch}, Created: stamp.Created, CreatedBy: "krmfn make images",
		Config: i.config(stamp), Layers: layers,
	}.Build()
}

// config returns the configuration of the image's containers.
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

// labels returns labels with the predefined keys of the OCI image specification.
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

// Programs returns the executables of the image: the paths of their files on this machine, by path in the image.
func (i Image) Programs() map[string]string {
	programs := make(map[string]string)
	for _, layer := range i.layers {
		for name, f := range layer {
			if source := f.Source(); source != "" {
				programs["/"+name] = source
			}
		}
	}
	return programs
}

// HasAuthorities reports whether the image contains certificate authorities.
func (i Image) HasAuthorities() bool {
	return slices.ContainsFunc(i.layers, func(layer ociimage.Files) bool {
		_, found := layer[authorities]
		return found
	})
}
