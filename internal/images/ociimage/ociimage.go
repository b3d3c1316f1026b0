// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package ociimage assembles container images from files, without a container engine. Equal input gives equal digests on every machine.
package ociimage

import (
	"cmp"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image describes an image for one platform.
type Image struct {
	// Base is the image below the layers. Nil means none.
	Base     v1.Image
	Platform v1.Platform
	// Created is the time in the image's metadata. The zero value means 1970.
	Created time.Time
	// CreatedBy is the command in the history of each layer. It may be empty.
	CreatedBy string
	// Config replaces the configuration of the base image.
	Config v1.Config
	Layers []v1.Layer
}

// Build assembles the image.
func (i Image) Build() (v1.Image, error) {
	base := i.Base
	if base == nil {
		base = mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	}
	history := v1.History{Created: v1.Time{Time: epoch}, CreatedBy: i.CreatedBy}
	layers := make([]mutate.Addendum, len(i.Layers))
	for n, layer := range i.Layers {
		layers[n] = mutate.Addendum{Layer: layer, History: history}
	}
	img, err := mutate.Append(base, layers...)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Created = v1.Time{Time: cmp.Or(i.Created, epoch).UTC()}
	file.OS, file.Architecture, file.Variant = i.Platform.OS, i.Platform.Architecture, i.Platform.Variant
	file.Config = i.Config
	return mutate.ConfigFile(img, file)
}

// Index returns an index of images for several platforms.
func Index(images []v1.Image) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, image := range images {
		file, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: file.Platform()}})
	}
	return index, nil
}
