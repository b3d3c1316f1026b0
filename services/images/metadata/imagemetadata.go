// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package metadata reads and writes the file by which function runners know images without asking a registry: what tags
// name, and how the images are run. The image warmer makes it, as a ConfigMap.
//
// It is YAML of the form
//
//	apiVersion: krmfn.dev/v1alpha1
//	kind: ImageMetadata
//	images:
//	  - image: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0
//	    digest: sha256:…
//	    command: [/usr/local/bin/function]
//	    user: "65532"
//	    platforms: [linux/amd64, linux/arm64]
//	    traits: {worker: true, deterministic: true, noStandby: true}
package metadata

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/images/registry"
)

const (
	apiVersion = "krmfn.dev/v1alpha1"
	kind       = "ImageMetadata"
	// Key is what the file is called, in a directory and in a ConfigMap.
	Key = "image-metadata.yaml"
	// Label marks ConfigMaps that are there for the file, with the value "true".
	Label = "krmfn.dev/image-metadata"
	// MaxSize is the most bytes of a file. A ConfigMap can have no more, together with what else is in it.
	MaxSize = 1000 << 10
)

type file struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Images     []registry.Image `json:"images"`
}

// Parse returns the images of a file, in its order. The errors say which field or which image is wrong; unknown fields are,
// and images without a digest or a command.
func Parse(text []byte) ([]registry.Image, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("image metadata has more than %d bytes: list fewer images", MaxSize)
	}
	var f file
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return nil, fmt.Errorf("image metadata is not understood: %w", err)
	}
	if f.APIVersion != apiVersion || f.Kind != kind {
		return nil, fmt.Errorf("image metadata has apiVersion %q and kind %q: want %s and %s", f.APIVersion, f.Kind, apiVersion, kind)
	}
	for i := range f.Images {
		if err := validate(&f.Images[i]); err != nil {
			return nil, fmt.Errorf("image metadata, images[%d]: %w", i, err)
		}
	}
	return f.Images, nil
}

func validate(i *registry.Image) error {
	if err := reference.Validate(i.Reference); err != nil {
		return err
	}
	if _, err := v1.NewHash(i.Digest); err != nil {
		return fmt.Errorf("digest %q of image %q is invalid: %w", i.Digest, i.Reference, err)
	}
	if _, _, digest := reference.Split(i.Reference); digest != "" && digest != i.Digest {
		return fmt.Errorf("image %q has digest %q: want the one that it names", i.Reference, i.Digest)
	}
	if len(i.Command) == 0 || i.Command[0] == "" {
		return fmt.Errorf("image %q has no command: give its entrypoint", i.Reference)
	}
	return nil
}

// Format returns the file of images, sorted by reference, so that the same images give the same bytes. The last of those with
// the same reference counts. The error says that they are too many.
func Format(images []registry.Image) ([]byte, error) {
	byReference := make(map[string]registry.Image, len(images))
	for _, i := range images {
		byReference[i.Reference] = i
	}
	f := file{APIVersion: apiVersion, Kind: kind, Images: slices.AppendSeq([]registry.Image{}, maps.Values(byReference))}
	slices.SortFunc(f.Images, func(a, b registry.Image) int { return cmp.Compare(a.Reference, b.Reference) })
	text, err := yaml.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("write image metadata: %w", err)
	}
	if len(text) > MaxSize {
		return nil, fmt.Errorf("the metadata of %d images takes %d bytes, more than the %d of a file: list fewer images", len(f.Images), len(text), MaxSize)
	}
	return text, nil
}
